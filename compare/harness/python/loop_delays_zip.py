# hand-rolled: waits with their numbers.
import os
import time

import requests

BACKOFF = (0.01, 0.02, 0.03, 0.04)


def load(url):
    for attempt, delay in enumerate(BACKOFF, start=1):
        reply = requests.get(url, timeout=5)
        if reply.status_code == 200:
            return reply
        print(f"attempt {attempt} failed, waiting {delay} s")
        time.sleep(delay)
    raise RuntimeError("no answer")


load(os.environ["HARNESS_URL"] + "/500")

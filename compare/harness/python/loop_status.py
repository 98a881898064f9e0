# hand-rolled: no exception, only the status.
import os
import random
import time

import requests


def load(url):
    reply = None
    for attempt in range(4):
        reply = requests.get(url, timeout=5)
        if reply.status_code not in (429, 503):
            break
        time.sleep(random.uniform(0, 0.01) * 2**attempt)
    return reply


load(os.environ["HARNESS_URL"] + "/429")

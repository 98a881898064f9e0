# hand-rolled: the environment says how often.
# unknowable: the number is set by the environment
import os
import time

import requests

RETRIES = int(os.environ.get("LOAD_RETRIES", "3"))


def load(url):
    for attempt in range(RETRIES):
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            time.sleep(0.01)


load(os.environ["HARNESS_URL"] + "/503")

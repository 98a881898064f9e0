# hand-rolled: a function that calls itself.
# unknowable: the number is a parameter
import os
import time

import requests


def load(url, retries=3):
    try:
        reply = requests.get(url, timeout=5)
        reply.raise_for_status()
        return reply
    except requests.RequestException:
        if retries == 0:
            raise
        time.sleep(0.01)
        return load(url, retries - 1)


load(os.environ["HARNESS_URL"] + "/503")

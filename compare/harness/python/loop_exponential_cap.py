# hand-rolled: until the wait is too long.
import os
import time

import requests


def load(url):
    delay = 0.01
    while delay <= 0.1:
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            time.sleep(delay)
            delay *= 2
    raise RuntimeError("gave up")


load(os.environ["HARNESS_URL"] + "/503")

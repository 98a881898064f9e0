# hand-rolled: a function that calls itself, up to a constant.
import os
import time

import requests

MAX_ATTEMPTS = 4


def load(url, attempt=1):
    reply = requests.get(url, timeout=5)
    if reply.ok:
        return reply
    if attempt >= MAX_ATTEMPTS:
        raise RuntimeError("gave up")
    time.sleep(0.01)
    return load(url, attempt + 1)


load(os.environ["HARNESS_URL"] + "/503")

# hand-rolled: a generator gives the waits.
import os
import time

import requests


def waits():
    for exponent in range(4):
        yield 0.01 * 2**exponent


def load(url):
    for wait in waits():
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            time.sleep(wait)
    raise RuntimeError("gave up")


load(os.environ["HARNESS_URL"] + "/503")

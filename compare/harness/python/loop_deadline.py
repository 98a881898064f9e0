# hand-rolled: the clock ends it.
# unknowable: how many attempts fit into the time depends on how long each takes
import os
import time

import requests


def load(url):
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            time.sleep(0.2)
    raise TimeoutError(url)


load(os.environ["HARNESS_URL"] + "/503")

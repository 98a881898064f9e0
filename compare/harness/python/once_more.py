# hand-rolled: once more, without a loop.
import os
import time

import requests


def load(url):
    for retry in (True, False):
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            if not retry:
                raise
            time.sleep(0.01)


load(os.environ["HARNESS_URL"] + "/503")

# hand-rolled: the counter is looked at after it has been raised.
import os
import time

import requests

MAX_RETRIES = 3


def load(url):
    retries = 0
    while True:
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            retries += 1
            if retries > MAX_RETRIES:
                raise
            time.sleep(0.01 * retries)


load(os.environ["HARNESS_URL"] + "/503")

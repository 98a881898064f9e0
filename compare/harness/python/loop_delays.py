# hand-rolled: a list of waits, and one attempt more than there are waits.
import os
import time

import requests

DELAYS = [0.01, 0.02, 0.04]


def load(url):
    for delay in DELAYS + [None]:
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            if delay is None:
                raise
            time.sleep(delay)


load(os.environ["HARNESS_URL"] + "/503")

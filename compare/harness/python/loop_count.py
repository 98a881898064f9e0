# hand-rolled: counted with itertools.
import itertools
import os
import time

import requests


def load(url):
    for attempt in itertools.count(1):
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            if attempt >= 5:
                raise
            time.sleep(0.01 * attempt)


load(os.environ["HARNESS_URL"] + "/503")

# hand-rolled: the caller says how often.
# unknowable: the number is a parameter
import os
import time

import requests


def load(url, retries=2):
    for attempt in range(retries + 1):
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            if attempt == retries:
                raise
            time.sleep(0.01)


load(os.environ["HARNESS_URL"] + "/503")

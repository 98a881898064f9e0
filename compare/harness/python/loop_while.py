# hand-rolled: the condition of the loop counts, from zero up to and including.
import os
import time

import requests


def load(url):
    attempt = 0
    while attempt <= 3:
        reply = requests.get(url, timeout=5)
        if reply.status_code < 500:
            return reply.json()
        attempt += 1
        time.sleep(0.01)
    return None


load(os.environ["HARNESS_URL"] + "/500")

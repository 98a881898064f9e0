# hand-rolled: a flag ends it, and so does a number.
import os
import time

import requests

MAX_TRIES = 3


def load(url):
    success = False
    tries = 0
    reply = None
    while not success and tries < MAX_TRIES:
        tries += 1
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            success = True
        except requests.RequestException as error:
            print(f"attempt {tries} failed: {error}")
            time.sleep(0.01)
    return reply


load(os.environ["HARNESS_URL"] + "/503")

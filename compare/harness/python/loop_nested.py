# hand-rolled: a retry around a retry.
import os
import time

import requests


def fetch(url):
    for attempt in range(3):
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException:
            if attempt == 2:
                raise
            time.sleep(0.01)


def load_with_retry(url):
    for attempt in range(2):
        try:
            return fetch(url).json()
        except requests.RequestException:
            time.sleep(0.01)
    return None


load_with_retry(os.environ["HARNESS_URL"] + "/503")

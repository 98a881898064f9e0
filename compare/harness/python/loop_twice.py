# hand-rolled: the same call in the handler.
import os

import requests


def load(url):
    try:
        reply = requests.get(url, timeout=5)
        reply.raise_for_status()
        return reply
    except requests.RequestException:
        reply = requests.get(url, timeout=5)
        reply.raise_for_status()
        return reply


load(os.environ["HARNESS_URL"] + "/503")

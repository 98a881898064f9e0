# hand-rolled: without an end.
import os
import time

import requests


def load(url):
    while True:
        try:
            reply = requests.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.RequestException as error:
            print("will retry:", error)
            time.sleep(0.01)


load(os.environ["HARNESS_URL"] + "/503")

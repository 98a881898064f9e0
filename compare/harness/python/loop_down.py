# hand-rolled: what is left is counted down.
import os
import time

import requests


def load(url, session):
    tries = 4
    while tries > 0:
        try:
            reply = session.get(url, timeout=5)
            reply.raise_for_status()
            return reply
        except requests.HTTPError:
            tries -= 1
            if tries == 0:
                raise
            time.sleep(0.01)


load(os.environ["HARNESS_URL"] + "/503", requests.Session())

# hand-rolled: a helper that is given the operation.
import os
import time

import requests


def with_retries(operation):
    for attempt in range(4):
        try:
            return operation()
        except Exception:
            if attempt == 3:
                raise
            time.sleep(0.01)


def load():
    reply = requests.get(os.environ["HARNESS_URL"] + "/503", timeout=5)
    reply.raise_for_status()
    return reply


with_retries(load)

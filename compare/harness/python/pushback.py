# hand-rolled: waits for as long as the server says.
import os
import time

import requests


def load(url):
    for attempt in range(3):
        reply = requests.get(url, timeout=5)
        if reply.status_code != 503:
            return reply
        time.sleep(float(reply.headers.get("Retry-After", "1")))
    raise RuntimeError("too many retries")


load(os.environ["HARNESS_URL"] + "/503/soon")

# py-backoff: by the value that comes back.
import os

import backoff
import requests


@backoff.on_predicate(backoff.constant, lambda r: r.status_code == 503, interval=0.01, max_tries=3)
def load():
    return requests.get(os.environ["HARNESS_URL"] + "/503")


load()

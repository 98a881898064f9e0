# py-backoff: max_time alone.
# unknowable: how many attempts fit into the time depends on how long each takes, and on chance
import os

import backoff
import requests


@backoff.on_exception(backoff.expo, requests.RequestException, max_time=2)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

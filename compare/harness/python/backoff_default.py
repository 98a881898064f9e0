# py-backoff: neither max_tries nor max_time.
import os

import backoff
import requests


@backoff.on_exception(backoff.constant, requests.RequestException, interval=0.01)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

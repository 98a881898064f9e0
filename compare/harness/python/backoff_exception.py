# py-backoff: max_tries counts all attempts.
import os

import backoff
import requests


@backoff.on_exception(backoff.expo, requests.RequestException, max_tries=5, factor=0.01)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

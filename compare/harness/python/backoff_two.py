# py-backoff: two decorators for two kinds of errors; only one of them has anything to do.
import os

import backoff
import requests


@backoff.on_exception(backoff.expo, requests.Timeout, max_tries=8, factor=0.01)
@backoff.on_exception(backoff.expo, requests.HTTPError, max_tries=3, factor=0.01)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

# py-backoff: gives up at once where the status says that it is in vain.
# unknowable: the number is what a function gives when it is called
import os

import backoff
import requests


def in_vain(error):
    return error.response is not None and 400 <= error.response.status_code < 500


@backoff.on_exception(
    backoff.expo, requests.HTTPError, max_tries=lambda: 3, giveup=in_vain, jitter=backoff.full_jitter, max_value=0.01
)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

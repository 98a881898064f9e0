# py-retry-invl: tries counts all attempts.
import os

import requests
from retry import retry


@retry(requests.HTTPError, tries=4, delay=0.01, backoff=2)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

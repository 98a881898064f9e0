# py-funcy-retry: the first argument counts all attempts.
import os

import requests
from funcy import retry


@retry(3, errors=requests.HTTPError, timeout=0.01)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

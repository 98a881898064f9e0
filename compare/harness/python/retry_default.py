# py-retry-invl: no tries, so no end.
import os

import requests
from retry import retry


@retry(delay=0.01)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

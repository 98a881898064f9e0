# py-tenacity: the number is computed from constants.
import os

import requests
from tenacity import retry, stop_after_attempt

FIRST = 1
RETRIES = 4
STOP = stop_after_attempt(FIRST + RETRIES)


@retry(stop=STOP)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

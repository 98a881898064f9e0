# py-retrying: milliseconds, and all attempts are counted.
import os

import requests
from retrying import retry


@retry(stop_max_attempt_number=4, wait_fixed=10)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

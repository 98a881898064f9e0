# py-retrying: only the clock ends it.
# unknowable: how many attempts fit into the time depends on how long each takes
import os

import requests
from retrying import retry


@retry(stop_max_delay=1000, wait_fixed=200)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

# py-tenacity: an object that is called with the function.
import os

import requests
from tenacity import Retrying, stop_after_attempt, wait_none

URL = os.environ["HARNESS_URL"]
retrying = Retrying(stop=stop_after_attempt(6), wait=wait_none())


def load(path):
    requests.get(URL + path).raise_for_status()


retrying(load, "/503")

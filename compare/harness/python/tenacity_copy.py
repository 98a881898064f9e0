# py-tenacity: a copy with another number.
import os

import requests
from tenacity import Retrying, stop_after_attempt, wait_none

default = Retrying(stop=stop_after_attempt(2), wait=wait_none())
patient = default.copy(stop=stop_after_attempt(5))


def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


patient(load)

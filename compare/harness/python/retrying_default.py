# py-retrying: bare, so without an end.
import os

import requests
from retrying import retry


@retry
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

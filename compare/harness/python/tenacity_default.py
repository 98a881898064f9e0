# py-tenacity: bare, so without an end and without a wait.
import os

import requests
from tenacity import retry


@retry
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

# py-tenacity: the caller says how often.
# unknowable: the number is a parameter
import os

import requests
from tenacity import Retrying, stop_after_attempt


def load(path, attempts=3):
    for attempt in Retrying(stop=stop_after_attempt(attempts)):
        with attempt:
            requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()


load("/503")

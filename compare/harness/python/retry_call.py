# py-retry-invl: without a decorator.
import os

import requests
from retry.api import retry_call


def load(path):
    requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()


retry_call(load, fargs=["/503"], tries=3, delay=0.01)

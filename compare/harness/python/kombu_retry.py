# py-kombu-ensure: max_retries counts the retries.
import os

import requests
from kombu.utils.functional import retry_over_time


def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


retry_over_time(load, requests.HTTPError, max_retries=3, interval_start=0.01, interval_step=0)

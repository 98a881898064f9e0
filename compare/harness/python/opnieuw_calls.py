# py-opnieuw: max_calls_total.
import os

import requests
from opnieuw import retry


@retry(
    retry_on_exceptions=requests.HTTPError,
    max_calls_total=4,
    retry_window_after_first_call_in_seconds=5,
)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

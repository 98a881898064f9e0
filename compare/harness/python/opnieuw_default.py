# py-opnieuw: three calls if nobody says another number.
import os

import requests
from opnieuw import retry


@retry(retry_on_exceptions=requests.HTTPError, retry_window_after_first_call_in_seconds=5)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

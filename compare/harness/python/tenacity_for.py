# py-tenacity: attempts in a for loop.
import os

import requests
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

for attempt in Retrying(
    retry=retry_if_exception_type(requests.HTTPError),
    stop=stop_after_attempt(7),
    wait=wait_fixed(0.01),
):
    with attempt:
        requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()

# py-tenacity: stop_after_attempt counts all attempts.
import os

import requests
from tenacity import retry, stop_after_attempt, wait_fixed


@retry(stop=stop_after_attempt(3), wait=wait_fixed(0.01))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

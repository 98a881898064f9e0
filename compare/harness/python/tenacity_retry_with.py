# py-tenacity: retry_with stands in for what the decorator says, it does not multiply.
import os

import requests
from tenacity import retry, stop_after_attempt


@retry(stop=stop_after_attempt(2))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load.retry_with(stop=stop_after_attempt(4))()

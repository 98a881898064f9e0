# py-tenacity: the environment says how often.
# unknowable: the number is set by the environment
import os

import requests
from tenacity import retry, stop_after_attempt


@retry(stop=stop_after_attempt(int(os.getenv("MAX_ATTEMPTS", 3))))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

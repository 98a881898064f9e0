# py-tenacity: only the clock ends it, and chance decides about the waits.
# unknowable: how many attempts fit into the time depends on how long each takes, and on chance
import os

import requests
from tenacity import retry, stop_after_delay, wait_random_exponential


@retry(stop=stop_after_delay(1), wait=wait_random_exponential(multiplier=0.1, max=0.5))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

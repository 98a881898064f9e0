# py-tenacity: only the clock ends it.
# unknowable: how many attempts fit into the time depends on how long each takes
import os

import requests
from tenacity import retry, stop_after_delay, wait_fixed


@retry(stop=stop_after_delay(1), wait=wait_fixed(0.2))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

# py-tenacity: the attempt after the last wait begins late.
# unknowable: how many attempts fit into the time depends on how long each takes
import os

import requests
from tenacity import retry, stop_after_delay, wait_fixed


@retry(stop=stop_after_delay(1), wait=wait_fixed(0.7))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

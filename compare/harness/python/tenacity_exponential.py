# py-tenacity: the module's names, written in full.
import os

import requests
import tenacity


@tenacity.retry(
    stop=tenacity.stop_after_attempt(5),
    wait=tenacity.wait_exponential(multiplier=0.01, max=0.1),
    reraise=True,
)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/500").raise_for_status()


load()

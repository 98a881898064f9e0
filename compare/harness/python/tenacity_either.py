# py-tenacity: whichever comes first; the calls take no time, so the count does.
import os

import requests
from tenacity import retry, stop_after_attempt, stop_after_delay, wait_fixed


@retry(stop=(stop_after_attempt(4) | stop_after_delay(30)), wait=wait_fixed(0.01))
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

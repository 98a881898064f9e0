# py-google-api-core-retry: only the deadline ends it.
# unknowable: how many attempts fit into the time depends on how long each takes, and on chance
import os

import requests
from google.api_core.retry import Retry, if_exception_type


@Retry(if_exception_type(requests.HTTPError), initial=0.2, maximum=0.4, timeout=1)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

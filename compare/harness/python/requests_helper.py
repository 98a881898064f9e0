# py-urllib3-retry: a function that makes the session.
# unknowable: the number is a parameter
import os

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry


def session_with_retries(retries=3, backoff_factor=0.001, statuses=(500, 502, 503)):
    session = requests.Session()
    retry = Retry(
        total=retries,
        read=retries,
        connect=retries,
        backoff_factor=backoff_factor,
        status_forcelist=statuses,
    )
    adapter = HTTPAdapter(max_retries=retry)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


session_with_retries().get(os.environ["HARNESS_URL"] + "/500")

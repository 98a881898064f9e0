# py-tenacity around py-urllib3-retry: their attempts multiply.
import os

import requests
from requests.adapters import HTTPAdapter
from tenacity import retry, stop_after_attempt
from urllib3.util import Retry

session = requests.Session()
session.mount("http://", HTTPAdapter(max_retries=Retry(total=3, status_forcelist=[503])))


@retry(stop=stop_after_attempt(3))
def load():
    session.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

# py-urllib3-retry: handed over to an adapter.
import os

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

retry = Retry(total=5, backoff_factor=0.001, status_forcelist=[429, 503])
adapter = HTTPAdapter(max_retries=retry)
session = requests.Session()
session.mount("http://", adapter)
session.get(os.environ["HARNESS_URL"] + "/503")

# py-urllib3-retry: status alone is limited, and the total stands above it.
import os

import requests
from requests.adapters import HTTPAdapter, Retry

session = requests.Session()
retries = Retry(total=2, backoff_factor=0, status_forcelist=[500, 502, 503], allowed_methods=None)
for prefix in ("http://", "https://"):
    session.mount(prefix, HTTPAdapter(max_retries=retries))
session.post(os.environ["HARNESS_URL"] + "/503", json={"a": 1})

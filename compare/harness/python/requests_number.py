# py-requests-httpadapter: a number is for connections that cannot be made.
import os

import requests
from requests.adapters import HTTPAdapter

session = requests.Session()
session.mount("https://", HTTPAdapter(max_retries=3))
session.get(os.environ["HARNESS_TLS_URL"])

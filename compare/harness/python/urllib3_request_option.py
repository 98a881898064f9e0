# py-urllib3-pool: for one request.
import os

import urllib3

http = urllib3.PoolManager()
http.request("GET", os.environ["HARNESS_URL"] + "/close", retries=5)

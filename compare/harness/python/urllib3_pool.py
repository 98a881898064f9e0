# py-urllib3-pool: nobody asks for retries, and lost connections are retried.
import os

import urllib3

urllib3.PoolManager().request("GET", os.environ["HARNESS_URL"] + "/close")

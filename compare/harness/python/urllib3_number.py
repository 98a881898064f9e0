# py-urllib3-retry: a number instead of an object.
import os

import urllib3

pool = urllib3.PoolManager(retries=2)
pool.request("GET", os.environ["HARNESS_URL"] + "/close")

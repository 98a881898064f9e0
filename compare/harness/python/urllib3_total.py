# py-urllib3-retry: total counts the retries.
import os

import urllib3
from urllib3.util.retry import Retry

pool = urllib3.PoolManager(retries=Retry(total=4, status_forcelist=[503]))
pool.request("GET", os.environ["HARNESS_URL"] + "/503")

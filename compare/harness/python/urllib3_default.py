# py-urllib3-retry: ten retries if nobody says another number.
import os

import urllib3

pool = urllib3.PoolManager(retries=urllib3.Retry(status_forcelist=[503], backoff_factor=0))
pool.request("GET", os.environ["HARNESS_URL"] + "/503")

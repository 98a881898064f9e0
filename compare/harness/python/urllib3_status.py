# py-urllib3-retry: only the statuses are limited to fewer than the total.
import os

import urllib3

retry = urllib3.Retry(total=6, status=2, status_forcelist=[503], backoff_factor=0)
urllib3.PoolManager(retries=retry).request("GET", os.environ["HARNESS_URL"] + "/503")

# py-urllib3-pool: the function of the module does the same.
import os

import urllib3

urllib3.request("GET", os.environ["HARNESS_URL"] + "/close")

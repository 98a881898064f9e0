# no retry: requests does not retry unless it is told to.
import os

import requests

requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()

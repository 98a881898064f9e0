# no retry: a loop over different pages, which ends at the first failure.
import os

import requests

for page in range(5):
    reply = requests.get(os.environ["HARNESS_URL"] + "/503", params={"page": page})
    reply.raise_for_status()

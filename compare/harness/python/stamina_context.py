# py-stamina: attempts in a for loop.
import os

import httpx
import stamina

for attempt in stamina.retry_context(on=httpx.HTTPError, attempts=4, wait_max=0.05):
    with attempt:
        httpx.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()

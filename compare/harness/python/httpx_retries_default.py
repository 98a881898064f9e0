# py-httpx-retries: ten retries if nobody says another number.
import os

import httpx
from httpx_retries import Retry, RetryTransport

with httpx.Client(transport=RetryTransport(retry=Retry(backoff_factor=0))) as client:
    client.get(os.environ["HARNESS_URL"] + "/503")

# py-httpx-retries: total counts the retries.
import os

import httpx
from httpx_retries import Retry, RetryTransport

retry = Retry(total=3, backoff_factor=0.001)
with httpx.Client(transport=RetryTransport(retry=retry)) as client:
    client.get(os.environ["HARNESS_URL"] + "/503")

# py-httpx-transport-retries: connections that cannot be made.
import os

import httpx

with httpx.Client(transport=httpx.HTTPTransport(retries=2)) as client:
    client.get(os.environ["HARNESS_TLS_URL"])

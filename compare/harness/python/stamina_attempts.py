# py-stamina: attempts counts all of them.
import os

import httpx
import stamina


@stamina.retry(on=httpx.HTTPError, attempts=3, wait_initial=0.01)
def load():
    httpx.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

# py-stamina: ten attempts if nobody says another number.
import os

import httpx
import stamina


@stamina.retry(on=httpx.HTTPError, wait_initial=0.01, wait_max=0.05, wait_jitter=0)
def load():
    httpx.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

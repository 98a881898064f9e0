# py-backoff: the same decorator on a coroutine.
import asyncio
import os

import backoff
import httpx


@backoff.on_exception(backoff.fibo, httpx.HTTPError, max_tries=4, max_value=0.01, jitter=None)
async def load():
    async with httpx.AsyncClient() as client:
        (await client.get(os.environ["HARNESS_URL"] + "/503")).raise_for_status()


asyncio.run(load())

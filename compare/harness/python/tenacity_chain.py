# py-tenacity: waits from a chain, and the async decorator.
import asyncio
import os

import httpx
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_chain, wait_fixed

POLICY = dict(
    stop=stop_after_attempt(5),
    wait=wait_chain(wait_fixed(0.01), wait_fixed(0.02)),
    retry=retry_if_exception(lambda error: isinstance(error, httpx.HTTPError)),
)


@retry(**POLICY)
async def load():
    async with httpx.AsyncClient() as client:
        (await client.get(os.environ["HARNESS_URL"] + "/502")).raise_for_status()


asyncio.run(load())

# py-httpx-retries: a transport that nobody gives a number.
import asyncio
import os

import httpx
from httpx_retries import RetryTransport


async def load():
    async with httpx.AsyncClient(transport=RetryTransport()) as client:
        await client.get(os.environ["HARNESS_URL"] + "/close")


asyncio.run(load())

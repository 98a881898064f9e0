# py-tenacity: AsyncRetrying as an iterator.
import asyncio
import os

import httpx
from tenacity import AsyncRetrying, stop_after_attempt, wait_random


async def load():
    async with httpx.AsyncClient() as client:
        async for attempt in AsyncRetrying(stop=stop_after_attempt(4), wait=wait_random(0, 0.02)):
            with attempt:
                reply = await client.get(os.environ["HARNESS_URL"] + "/503")
                reply.raise_for_status()


asyncio.run(load())

# py-aiohttp-retry: three attempts if nobody says another number.
import asyncio
import os

from aiohttp_retry import ExponentialRetry, RetryClient


async def load():
    async with RetryClient(retry_options=ExponentialRetry(start_timeout=0.01)) as client:
        async with client.get(os.environ["HARNESS_URL"] + "/503") as reply:
            return reply.status


asyncio.run(load())

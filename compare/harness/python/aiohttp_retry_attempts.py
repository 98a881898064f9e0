# py-aiohttp-retry: attempts counts all of them.
import asyncio
import os

from aiohttp_retry import RandomRetry, RetryClient

options = RandomRetry(attempts=5, min_timeout=0.01, max_timeout=0.02)


async def load():
    async with RetryClient(retry_options=options) as client:
        async with client.post(os.environ["HARNESS_URL"] + "/503") as reply:
            return reply.status


asyncio.run(load())

# py-aiohttp-retry: a list of waits.
import asyncio
import os

from aiohttp_retry import ListRetry, RetryClient


async def load():
    options = ListRetry(timeouts=[0.01, 0.02, 0.03, 0.04])
    async with RetryClient(raise_for_status=False, retry_options=options) as client:
        async with client.get(os.environ["HARNESS_URL"] + "/500") as reply:
            return reply.status


asyncio.run(load())

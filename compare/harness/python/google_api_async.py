# py-google-api-core-retry: around a coroutine, until a deadline.
# unknowable: how many attempts fit into the time depends on how long each takes, and on chance
import asyncio
import os

import httpx
from google.api_core import retry_async


@retry_async.AsyncRetry(
    predicate=retry_async.if_exception_type(httpx.HTTPError), initial=0.1, maximum=0.3, timeout=1.0
)
async def load():
    async with httpx.AsyncClient() as client:
        (await client.get(os.environ["HARNESS_URL"] + "/503")).raise_for_status()


asyncio.run(load())

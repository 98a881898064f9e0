# hand-rolled: a coroutine.
import asyncio
import os

import httpx


async def load(url):
    async with httpx.AsyncClient() as client:
        for attempt in range(6):
            try:
                reply = await client.get(url)
                reply.raise_for_status()
                return reply
            except httpx.HTTPError:
                if attempt == 5:
                    raise
                await asyncio.sleep(0.01 * (attempt + 1))


asyncio.run(load(os.environ["HARNESS_URL"] + "/503"))

# py-openai: max_retries counts the retries.
import asyncio
import os

from openai import AsyncOpenAI

client = AsyncOpenAI(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon", max_retries=4)


async def ask():
    return await client.models.list()


asyncio.run(ask())

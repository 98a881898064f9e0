# py-openai: for one call, in place of the client's number.
import os

from openai import OpenAI

client = OpenAI(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon")
client.with_options(max_retries=5).models.list()

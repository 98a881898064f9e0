# py-anthropic: for one call, in place of the client's number.
import os

from anthropic import Anthropic

client = Anthropic(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon")
client.with_options(max_retries=4).models.list()

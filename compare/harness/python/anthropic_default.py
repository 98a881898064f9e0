# py-anthropic: two retries if nobody says another number.
import os

from anthropic import Anthropic

client = Anthropic(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon")
client.models.list()

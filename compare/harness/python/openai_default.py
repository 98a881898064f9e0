# py-openai: two retries if nobody says another number.
import os

from openai import OpenAI

OpenAI(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon").models.list()

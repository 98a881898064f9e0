# py-openai: off.
import os

from openai import OpenAI

OpenAI(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon", max_retries=0).models.list()

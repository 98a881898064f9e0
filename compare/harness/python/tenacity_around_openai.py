# py-tenacity around py-openai, which retries without being asked: their attempts multiply.
import os

from openai import InternalServerError, OpenAI
from tenacity import retry, retry_if_exception_type, stop_after_attempt

client = OpenAI(api_key="none", base_url=os.environ["HARNESS_URL"] + "/503/soon")


@retry(stop=stop_after_attempt(2), retry=retry_if_exception_type(InternalServerError))
def ask():
    return client.models.list()


ask()

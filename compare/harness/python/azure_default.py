# py-azure-core-retrypolicy: three retries of a status if nobody says another number.
import os

from azure.core import PipelineClient
from azure.core.pipeline.policies import RetryPolicy
from azure.core.rest import HttpRequest

url = os.environ["HARNESS_URL"] + "/503"
client = PipelineClient(url, policies=[RetryPolicy(retry_backoff_factor=0.01)])
client.send_request(HttpRequest("GET", url))

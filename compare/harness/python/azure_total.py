# py-azure-core-retrypolicy: the total of retries.
import os

from azure.core import PipelineClient
from azure.core.pipeline.policies import RetryPolicy
from azure.core.rest import HttpRequest

url = os.environ["HARNESS_URL"] + "/503"
policy = RetryPolicy(retry_total=2, retry_backoff_factor=0.01)
PipelineClient(url, policies=[policy]).send_request(HttpRequest("GET", url))

# py-botocore-config: the environment stands in for what nobody wrote.
# unknowable: the number is set by the environment
import os

import boto3
from botocore.config import Config

config = Config(retries={"total_max_attempts": int(os.environ.get("ATTEMPTS", "3"))})
queue = boto3.client(
    "sqs", region_name="eu-west-1", endpoint_url=os.environ["HARNESS_URL"] + "/503", config=config
)
queue.list_queues()

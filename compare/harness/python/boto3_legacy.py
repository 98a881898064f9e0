# py-botocore-config: max_attempts counts the retries.
import os

import boto3
from botocore.config import Config

config = Config(retries={"max_attempts": 2, "mode": "legacy"})
queue = boto3.client(
    "sqs", region_name="eu-west-1", endpoint_url=os.environ["HARNESS_URL"] + "/503", config=config
)
queue.list_queues()

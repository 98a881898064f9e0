# py-botocore-config: total_max_attempts counts all attempts.
import os

import boto3
from botocore.config import Config

config = Config(retries={"total_max_attempts": 4, "mode": "adaptive"})
queue = boto3.client(
    "sqs", region_name="eu-west-1", endpoint_url=os.environ["HARNESS_URL"] + "/503", config=config
)
queue.list_queues()

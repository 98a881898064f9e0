# py-botocore-config: the number of the mode.
import os

import boto3
from botocore.config import Config

queue = boto3.client(
    "sqs",
    region_name="eu-west-1",
    endpoint_url=os.environ["HARNESS_URL"] + "/503",
    config=Config(retries={"mode": "standard"}),
)
queue.list_queues()

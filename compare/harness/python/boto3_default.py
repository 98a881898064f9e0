# py-botocore-client: nobody says a number.
import os

import boto3

queue = boto3.client("sqs", region_name="eu-west-1", endpoint_url=os.environ["HARNESS_URL"] + "/503")
queue.list_queues()

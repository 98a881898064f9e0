# py-botocore-config: a session, and a client with a configuration of its own.
import os

import boto3
from botocore.client import Config

session = boto3.session.Session(region_name="eu-west-1")
table = session.client(
    "dynamodb",
    endpoint_url=os.environ["HARNESS_URL"] + "/500",
    config=Config(connect_timeout=1, read_timeout=1, retries=dict(max_attempts=1, mode="standard")),
)
table.list_tables()

# py-botocore-client: a resource of a service that has a number of its own.
import os

import boto3

table = boto3.resource(
    "dynamodb", region_name="eu-west-1", endpoint_url=os.environ["HARNESS_URL"] + "/500"
)
list(table.tables.all())

# py-elasticsearch: for one call.
import os

from elasticsearch import Elasticsearch

client = Elasticsearch(os.environ["HARNESS_URL"] + "/503")
client.options(max_retries=1).info()

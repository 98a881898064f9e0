# py-elasticsearch: max_retries counts the retries.
import os

from elasticsearch import Elasticsearch

client = Elasticsearch(os.environ["HARNESS_URL"] + "/503", max_retries=1, retry_on_status=[503])
client.info()

# py-elasticsearch-client: three retries if nobody says another number.
import os

from elasticsearch import Elasticsearch

Elasticsearch(os.environ["HARNESS_URL"] + "/503").info()

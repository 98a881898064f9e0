# py-redis: the second argument counts the retries.
import os

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

url = os.environ["HARNESS_URL"].replace("http://", "redis://")
client = redis.Redis.from_url(url, retry=Retry(ConstantBackoff(0.01), 3))
client.ping()

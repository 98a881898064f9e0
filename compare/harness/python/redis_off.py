# py-redis: off.
import os
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

address = urlsplit(os.environ["HARNESS_URL"])
redis.Redis(host=address.hostname, port=address.port, retry=Retry(NoBackoff(), 0)).ping()

# py-redis-client: retries connections if nobody says otherwise.
import os
from urllib.parse import urlsplit

import redis

address = urlsplit(os.environ["HARNESS_URL"])
redis.Redis(host=address.hostname, port=address.port).ping()

# no retry: a client that is made from a URL does not take over the default of the constructor.
import os

import redis

client = redis.Redis.from_url(os.environ["HARNESS_URL"].replace("http://", "redis://"))
client.ping()

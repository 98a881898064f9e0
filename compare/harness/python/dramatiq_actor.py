# py-dramatiq: max_retries counts the retries.
import os

import dramatiq
import requests
from dramatiq.brokers.stub import StubBroker

broker = StubBroker()
dramatiq.set_broker(broker)


@dramatiq.actor(max_retries=3, min_backoff=10, max_backoff=20)
def load(path):
    requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()


worker = dramatiq.Worker(broker, worker_timeout=50)
worker.start()
load.send("/503")
broker.join(load.queue_name)
worker.join()
worker.stop()

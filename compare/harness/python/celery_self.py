# py-celery-self-retry: max_retries counts the retries.
import os

import requests
from celery import Celery

app = Celery("harness")
app.conf.task_always_eager = True


@app.task(bind=True)
def load(self, path):
    try:
        requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()
    except requests.HTTPError as error:
        raise self.retry(exc=error, countdown=0, max_retries=2)


load.delay("/503")

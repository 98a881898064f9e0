# py-celery-autoretry: three retries if nobody says another number.
import os

import requests
from celery import Celery

app = Celery("harness")
app.conf.task_always_eager = True


@app.task(autoretry_for=(requests.HTTPError,), default_retry_delay=0)
def load(path):
    requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()


load.delay("/503")

# py-celery-autoretry: max_retries counts the retries.
import os

import requests
from celery import Celery, shared_task

app = Celery("harness")
app.conf.task_always_eager = True


@shared_task(
    autoretry_for=(requests.RequestException,),
    retry_kwargs={"max_retries": 5},
    retry_backoff=True,
)
def load(path):
    requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()


load.apply_async(args=["/503"])

# py-tenacity: by the result, and the last one is handed back.
import os

import requests
from tenacity import retry, retry_if_result, stop_after_attempt, wait_incrementing


def unavailable(reply):
    return reply.status_code >= 500


@retry(
    retry=retry_if_result(unavailable),
    stop=stop_after_attempt(max_attempt_number=3),
    wait=wait_incrementing(start=0.01, increment=0.01),
    retry_error_callback=lambda state: state.outcome.result(),
)
def load():
    return requests.get(os.environ["HARNESS_URL"] + "/503")


load()

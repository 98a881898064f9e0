# hand-rolled: a decorator of one's own.
import functools
import os
import time

import requests


def retry(times=3, delay=0.01):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            for attempt in range(times):
                try:
                    return function(*args, **kwargs)
                except requests.RequestException:
                    if attempt == times - 1:
                        raise
                    time.sleep(delay)

        return wrapper

    return decorate


@retry(times=3)
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503").raise_for_status()


load()

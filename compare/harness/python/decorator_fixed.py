# hand-rolled: a decorator without parameters.
import functools
import os
import time

import requests


def retried(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        attempts = 0
        while True:
            attempts += 1
            try:
                return function(*args, **kwargs)
            except requests.RequestException:
                if attempts >= 3:
                    raise
                time.sleep(0.01 * attempts)

    return wrapper


@retried
def load():
    requests.get(os.environ["HARNESS_URL"] + "/503", timeout=5).raise_for_status()


load()

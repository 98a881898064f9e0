# hand-rolled: a counted loop, the last failure is handed on.
import os
import time
import urllib.error
import urllib.request


def load(url):
    last = None
    for attempt in range(5):
        try:
            return urllib.request.urlopen(url).read()
        except urllib.error.URLError as error:
            last = error
            time.sleep(0.01 * 2**attempt)
    raise last


load(os.environ["HARNESS_URL"] + "/503")

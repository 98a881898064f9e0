# hand-rolled: the number is an attribute of the object.
import os
import time

import requests


class Client:
    max_attempts = 4
    backoff_s = 0.01

    def load(self, url):
        for attempt in range(1, self.max_attempts + 1):
            try:
                reply = requests.get(url, timeout=5)
                reply.raise_for_status()
                return reply
            except requests.RequestException:
                if attempt == self.max_attempts:
                    raise
                time.sleep(self.backoff_s * attempt)


Client().load(os.environ["HARNESS_URL"] + "/503")

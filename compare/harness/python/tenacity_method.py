# py-tenacity: a method of a class, with its numbers in another class.
import os

import requests
from tenacity import retry, stop_after_attempt, wait_fixed


class Settings:
    MAX_ATTEMPTS = 4
    WAIT_S = 0.01


class Client:
    @retry(stop=stop_after_attempt(Settings.MAX_ATTEMPTS), wait=wait_fixed(Settings.WAIT_S))
    def load(self, path):
        requests.get(os.environ["HARNESS_URL"] + path).raise_for_status()


Client().load("/503")

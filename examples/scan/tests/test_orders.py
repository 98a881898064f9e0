"""A test may retry as it likes: it is not counted unless somebody asks for it."""

import requests


def wait_for_server(url):
    for _ in range(20):
        try:
            return requests.get(url, timeout=1)
        except requests.ConnectionError:
            pass
    raise AssertionError("no server")

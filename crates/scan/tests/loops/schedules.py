SCHEDULE = [0.05, 0.1, 0.2]


class Client:
    # The first call stands before the loop, and its waits are in a list.
    # expect listed: retry attempts=4 delay=exponential base=50
    def listed(self, **kw):
        response = self.http.request(**kw)
        for n, wait in enumerate(SCHEDULE):
            if response.status_code < 500:
                break
            time.sleep(wait)
            kw["headers"]["n"] = str(n)
            response = self.http.request(**kw)
        return response

    # Of a list that nobody knows each wait may be another.
    # expect not-known: retry attempts=dynamic delay=dynamic base=none expression=options.retry_schedule+1
    def not_known(self, options):
        for wait in options.retry_schedule:
            try:
                return self.http.request("GET", "/")
            except IOError:
                time.sleep(wait)
        return self.http.request("GET", "/")

    # expect iterator: retry attempts=4 delay=exponential base=50
    def iterator(self):
        waits = iter(SCHEDULE)
        while True:
            try:
                return self.http.request("GET", "/")
            except IOError:
                wait = next(waits, None)
                if wait is None:
                    raise
                time.sleep(wait)

    # Elements of a list that is no schedule are data.
    def all_pages(self, pages):
        for page in pages:
            try:
                self.http.request("GET", page)
            except IOError:
                time.sleep(1)


class Tracks:
    # What another service says of itself is no line of a log.
    # expect info: retry attempts=3 delay=constant base=3000
    def version(self, client):
        for retry in range(3):
            try:
                return client.info()["version"]
            except TransportError:
                if retry == 2:
                    raise
                time.sleep(3)

    # expect by-name: retry attempts=dynamic usual=11 delay=constant base=5000
    def get(self, command, retries=10):
        try:
            return getattr(self.client, command)()
        except OSError as error:
            self.log.error("%s", error)
        if retries <= 0:
            raise Gone()
        time.sleep(5)
        self.connect()
        return self.get(command, retries=retries - 1)


class Session(Base):
    # expect of-the-base: retry attempts=infinite delay=server-directed
    def request(self, method, url, **kwargs):
        try:
            response = super().request(method, url, **kwargs)
        except HTTPError as error:
            response = error.response
            if response.status_code == 429:
                self._slow_down(response)
                return self.request(method, url, **kwargs)
            raise
        return response

    def _slow_down(self, response):
        remaining = int(response.headers.get("Retry-After", 0))
        if remaining > 0:
            time.sleep(remaining)

    def close(self):
        super().close()
        self.pool.close()

# expect ended-well: retry attempts=3 delay=constant base=10000
def update():
    for i in range(3):
        if subprocess.call(["apt-get", "update"]) == 0:
            return
        time.sleep(10)
    sys.exit(1)


# expect same-name: retry attempts=4 delay=constant base=1000
def send(msg, tries=0):
    try:
        client.send(msg)
    except ConnectionError:
        if tries < 3:
            time.sleep(1)
            return send(msg, tries + 1)
        raise


# expect valid-answer: retry attempts=dynamic expression=retries+1 delay=none
async def call(self, method, url):
    retries = self.retries
    while retries >= 0:
        try:
            response = await self.client.request(method, url)
            if self.is_valid_response(response) or retries <= 0:
                return response
        except (httpx.RequestError, httpx.HTTPStatusError) as e:
            if retries <= 0:
                raise e
        retries -= 1


async def approved(handle):
    # Poll the query until somebody has to agree.
    for _ in range(100):
        pending = await handle.query(Agent.pending)
        if pending is not None:
            break
        await asyncio.sleep(0.5)
    else:
        raise RuntimeError("nobody had to agree")

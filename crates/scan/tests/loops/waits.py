# expect W01: retry attempts=dynamic usual=4 delay=exponential base=500 cap=2000 jitter=none
def w01(client, tries=4, first_delay=0.5, max_delay=2.0):
    for attempt in range(tries):
        try:
            return client.fetch("/a")
        except OSError:
            if attempt == tries - 1:
                raise
            time.sleep(min(first_delay * 2 ** attempt, max_delay))


# expect W02: retry attempts=5 delay=exponential base=2000 jitter=none pushback
def w02(client):
    for attempt in range(1, 6):
        response = client.send("/b")
        if response.status_code != 503:
            return response
        told = response.headers.get("Retry-After")
        pause = float(told) if told is not None else 2 ** attempt
        time.sleep(pause)


# expect W03: retry attempts=3 delay=server-directed base=7000 pushback
def w03(client):
    for _ in range(3):
        response = client.send("/c")
        if response.status_code != 429:
            return response
        time.sleep(int(response.headers.get("Retry-After", 7)))


# expect W04: retry attempts=4 delay=server-directed base=none pushback
def w04(client):
    for _ in range(4):
        response = client.send("/d")
        if response.status_code != 429:
            return response
        time.sleep(int(response.headers["Retry-After"]))


# expect W05: retry attempts=6 delay=linear base=1000 jitter=none
def w05(client, narrow):
    for attempt in range(1, 7):
        try:
            return client.query(narrow)
        except ValueError as error:
            if "too wide" in str(error):
                narrow = True
                continue
            time.sleep(attempt)


# expect W06: retry attempts=4 delay=linear base=3000 jitter=additive
def w06(client):
    for attempt in range(4):
        try:
            return client.fetch("/f")
        except OSError:
            if attempt == 3:
                raise
            time.sleep(with_jitter(3 * (attempt + 1)))


def pause_after(n):
    return (n + 1) ** 2 + 1


# expect W07: retry attempts=5 delay=polynomial base=2000 jitter=none
def w07(client):
    for attempt in range(5):
        try:
            return client.fetch("/g")
        except OSError:
            if attempt == 4:
                raise
            time.sleep(pause_after(attempt))


# expect W08: retry attempts=6 delay=exponential base=1000 cap=5000 jitter=none
def w08(client):
    pause = 1
    for attempt in range(6):
        try:
            return client.fetch("/h")
        except OSError:
            if attempt == 5:
                raise
            time.sleep(pause)
            pause = min(5, pause * 2)


# expect W09: retry attempts=dynamic delay=constant base=none jitter=none
def w09(client, tries, pause):
    for attempt in range(tries):
        try:
            return client.fetch("/i")
        except OSError:
            if attempt == tries - 1:
                raise
            time.sleep(pause)


# expect drawn-deadline: retry attempts=dynamic delay=exponential base=200 cap=5000 jitter=full
async def retry_until(call, start_wait=0.2, max_wait=5, timeout=10, tolerance=0.1):
    loop = ioloop.IOLoop.current()
    deadline = loop.time() + timeout
    if tolerance:
        tol = tolerance * timeout
        deadline = random.uniform(deadline - tol, deadline + tol)
    scale = 1
    while True:
        done = await call()
        if done:
            return done
        remaining = deadline - loop.time()
        if remaining < 0:
            break
        limit = min(max_wait, start_wait * scale)
        if limit < max_wait:
            scale *= 2
        await asyncio.sleep(min(remaining, random.uniform(0, limit)))
    raise asyncio.TimeoutError()

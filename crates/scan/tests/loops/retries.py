# expect H01: retry attempts=3 delay=constant base=1000 jitter=none
def h01():
    for i in range(3):
        try:
            return call()
        except IOError:
            if i == 2:
                raise
            time.sleep(1)


# expect H02: retry attempts=3 delay=constant base=5000 jitter=none wasted
def h02():
    for _ in range(3):
        try:
            return call()
        except Exception as e:
            last = e
            time.sleep(5)
    raise last


# expect H03: retry attempts=5 delay=exponential base=2000 schedule=2000,4000,8000,16000 jitter=none
def h03():
    n = 0
    while True:
        try:
            return call()
        except TimeoutError:
            n += 1
            if n >= 5:
                raise
            time.sleep(2 ** n)


# expect H04: retry attempts=4 delay=constant base=3000 jitter=none wasted
def h04():
    left = 4
    while left > 0:
        try:
            db.connect()
            break
        except OperationalError:
            left -= 1
            time.sleep(3)
    else:
        raise RuntimeError("no database")


# expect H05: retry attempts=6 delay=none jitter=none
def h05():
    n = 5
    while n >= 0:
        n -= 1
        r = call()
        if r.ok:
            break


# expect H06: retry attempts=dynamic usual=4 expression=n+1 delay=none jitter=none
def h06(url, n=3):
    try:
        return get(url)
    except ConnectionError:
        if n <= 0:
            raise
        return h06(url, n - 1)


def again(times=4, base=0.5):
    def deco(f):
        @wraps(f)
        def inner(*a, **k):
            # expect H07: retry attempts=dynamic usual=4 expression=times delay=exponential jitter=additive
            for i in range(times):
                try:
                    return f(*a, **k)
                except OSError:
                    if i == times - 1:
                        raise
                    time.sleep(base * 2 ** i + random.uniform(0, 0.3))
        return inner
    return deco


# expect H08: retry attempts=infinite delay=constant base=1000 jitter=none deadline=30000
def h08():
    end = time.monotonic() + 30
    while True:
        try:
            return call()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


# expect H09: retry attempts=5 delay=exponential base=1000 schedule=1000,2000,4000,8000 cap=8000 jitter=none wasted
def h09(session, url):
    for i in range(5):
        r = session.get(url)
        if r.status_code not in (429, 502, 503):
            return r
        time.sleep(min(2 ** i, 8))
    return r


# expect H10: retry attempts=3 delay=server-directed pushback jitter=none wasted
def h10(url):
    for i in range(1, 4):
        r = post(url)
        if r.status_code != 429:
            break
        time.sleep(float(r.headers.get("Retry-After", 2 ** i)))


# expect H11: retry attempts=3 delay=linear base=500 schedule=500,1000 jitter=none wasted
async def h11():
    for attempt in range(1, 4):
        try:
            async with asyncio.timeout(2):
                return await call()
        except TimeoutError:
            await asyncio.sleep(0.5 * attempt)
    raise GiveUp()


# expect H12: retry attempts=6 delay=linear schedule=0,1000,2000,3000,4000 jitter=none
def h12():
    for attempt in range(6):
        try:
            return f()
        except Exception:
            if attempt == 5:
                raise
            time.sleep(attempt)


# expect H13: retry attempts=4 delay=dynamic schedule=1000,5000,30000 jitter=none
def h13():
    for wait in (0, 1, 5, 30):
        time.sleep(wait)
        try:
            return call()
        except OSError as e:
            err = e
    raise err


DELAYS = [0.2, 1, 3]


# expect H14: retry attempts=6 delay=dynamic schedule=200,1000,3000,3000,3000 jitter=none wasted
def h14(msg):
    n = 0
    while n < 6:
        try:
            return publish(msg)
        except KafkaError:
            time.sleep(DELAYS[min(n, len(DELAYS) - 1)])
            n += 1
    raise Lost()


# expect H16: retry attempts=infinite delay=constant base=5000 jitter=none
def h16():
    while True:
        try:
            token = login()
            break
        except RequestError:
            time.sleep(5)


# The same call again, once.
# expect R01: retry attempts=2 delay=none
def r01(q):
    try:
        q.delete()
    except IntegrityError:
        q.delete()


# expect R02: retry attempts=2 delay=none
def r02(client, options):
    r = client.create(options)
    if r.status_code == 500:
        r = client.create(options)
    return r

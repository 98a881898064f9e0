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


# expect H10: retry attempts=3 delay=exponential base=2000 pushback jitter=none wasted
def h10(url):
    for i in range(1, 4):
        r = post(url)
        if r.status_code != 429:
            break
        time.sleep(float(r.headers.get("Retry-After", 2 ** i)))


# expect H11: retry attempts=3 delay=linear base=500 schedule=500,1000 jitter=none wasted timeout=2000
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


# What follows the first call follows the second, too.
# expect R13: retry attempts=2 delay=none
def r13(url):
    try:
        reply = requests.get(url, timeout=5)
        reply.raise_for_status()
        return reply
    except requests.RequestException:
        reply = requests.get(url, timeout=5)
        reply.raise_for_status()
        return reply


# expect H49: retry attempts=6 delay=exponential jitter=none
def h49(job):
    job.retry_count += 1
    if job.retry_count > 5:
        job.status = "dead"
    else:
        job.next_run = now() + timedelta(seconds=30 * 2 ** job.retry_count)
    job.save()


# expect H15: retry attempts=dynamic delay=none
def h15(upload):
    for tryit in attempts(5, delay=0.5):
        try:
            upload()
            break
        except OSError as e:
            tryit.failed(e)


# All pages are one operation, and all of them are asked for again.
# expect R04: retry attempts=3 delay=constant base=2000
def r04(client, query):
    for attempt in range(3):
        try:
            rows = []
            while True:
                page = client.fetch(query)
                rows.extend(page.rows)
                if page.last:
                    return rows
        except ConnectionError:
            if attempt == 2:
                raise
            time.sleep(2)


# expect R05: retry attempts=infinite delay=constant base=5000
def r05(loop, client):
    try:
        client.connect()
    except OSError:
        loop.call_later(5, r05)


class Watchdog:
    @property
    def in_progress(self):
        return self.lock.locked()

    # expect R74: retry attempts=3 delay=constant base=5000
    async def restart(self, state):
        attempts = 0
        while await self.instance.state() == state:
            if not self.in_progress:
                try:
                    await self.instance.restart()
                except InstanceError:
                    attempts = attempts + 1
                else:
                    break
            if attempts >= 3:
                break
            await asyncio.sleep(5)


# expect H15: retry attempts=dynamic delay=none
def h15(self):
    for tryit in self.attempts(5, delay=0.5):
        try:
            upload()
        except OSError as e:
            tryit.failed(e)


# expect told: retry attempts=dynamic
def told(self, url, id):
    for retry in self.RetryManager():
        try:
            formats = self.download_formats(url, id)
        except ApiError as e:
            if e.status == 403:
                retry.error = e
                continue
            raise
    return formats


# expect told-of-nothing: retry attempts=dynamic
def told_of_nothing(self, page):
    for retry in self.RetryManager():
        answer = self.download_json(f"/list?page={page}")
        if not answer:
            retry.error = ApiError("an empty page")
    return answer


# expect suppressed: retry attempts=3 delay=constant base=1000
def suppressed(client, url):
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            return client.get(url)
        time.sleep(1)


# expect suppressed-and-left: retry attempts=3 delay=none
def suppressed_and_left(client, url):
    for _ in range(3):
        with suppress(ConnectionError):
            client.put(url)
            break


# expect other-details: retry attempts=2 delay=none
def other_details(client, url):
    try:
        return client.fetch(url, timeout=5)
    except ConnectionError:
        # It may be slow, so retry with more time.
        return client.fetch(url, timeout=30)


# expect in-pages: retry attempts=4 delay=exponential
def in_pages(client, url):
    offset, retries, rows = 0, 0, []
    while True:
        try:
            page = client.fetch(url, offset=offset)
        except ConnectionError:
            if retries >= 3:
                raise
            time.sleep(2 ** retries)
            retries += 1
            continue
        retries = 0
        rows.extend(page.rows)
        offset += len(page.rows)
        if page.last:
            break
    return rows


# expect a-model: retry attempts=3 delay=constant base=1000
def a_model(llm, text):
    for _ in range(3):
        try:
            return llm.prompt(text)
        except ConnectionError:
            time.sleep(1)


# expect a-crawl: retry attempts=3 delay=constant base=1000
def a_crawl(address):
    for _ in range(3):
        try:
            return crawl_url(address)
        except ConnectionError:
            time.sleep(1)


# expect a-tag: retry attempts=infinite delay=none
def a_tag(client, name):
    while True:
        try:
            return client.createTag(name)
        except ConnectionError:
            pass


# expect waits-by-argument: retry attempts=infinite delay=constant base=600000 jitter=none
def call_api(self, url):
    while True:
        response = self.client.request(url)
        if response.status_code < 400:
            return response.json()
        if response.status_code == 429:
            self.wait(seconds=600)
            continue
        raise Failed(response)


# expect waits-for-an-event: retry attempts=4 delay=constant base=2000
def deliver(self, item):
    for attempt in range(4):
        try:
            return self.client.send(item)
        except ConnectionError:
            self.stop_event.wait(2)


# expect told-by-content: retry attempts=5 delay=constant base=5000
def load_page(self, url):
    for _ in range(5):
        answer = self.request(url)
        if "Please wait" not in answer.content:
            return answer
        self.sleep(5.0)


# expect told-by-a-key: retry attempts=3 delay=none
def ask_model(self, question):
    for _ in range(3):
        answer = self.post(question)
        if "error" not in answer:
            return answer
    return None


# expect at-once-after-a-status: retry attempts=infinite delay=none
def create(session, path, body):
    while True:
        answer = session.post(path, json=body)
        if answer.status_code == 409 and "another operation" in answer.text:
            continue
        break
    return answer


# expect counted-in-its-notes: retry attempts=4 delay=dynamic
def failed(self, request, error):
    retry_times = request.meta.get("retry_times", 0) + 1
    if retry_times <= 3:
        self.scheduler.add(request.again(retry_times))


# expect put-back-by-its-handler: retry attempts=infinite delay=none
def work(self):
    item = self.queue.get()
    try:
        self.handle(item)
    except Exception:
        log.exception("failed")
        self.queue.put(item)


# expect a-piece-of-a-stream: retry attempts=5 delay=exponential
async def copy(body, file):
    failed_reads = 0
    while True:
        try:
            chunk = await body.read(65536)
        except ConnectionError:
            failed_reads += 1
            if failed_reads >= 5:
                raise
            await asyncio.sleep(0.1 * 2**failed_reads)
            body = await reopen(file.tell())
            continue
        if not chunk:
            break
        file.write(chunk)


# The status is kept in a variable before anybody looks at it.
# expect a-kept-status: retry attempts=infinite delay=constant base=5000
def a_kept_status(session, url):
    while True:
        response = session.get(url)
        code = response.status_code
        if code < 400:
            return response
        if code == 429:
            time.sleep(5)
            continue
        raise RuntimeError(code)


# What has its own name belongs to something else.
class Client:
    # expect by-its-own-name: retry attempts=infinite delay=server-directed
    def request(self, method, url, params):
        with self.session.request(method, url, params=params) as response:
            if response.status_code == 404:
                raise KeyError(url)
            if response.status_code == 429:
                time.sleep(int(response.headers["Retry-After"]))
                return self.request(method, url, params)
            return response


# expect unread: retry attempts=2 delay=none
def unread(session, url):
    retries = 0
    while True:
        try:
            response = session.get(url)
            return json.loads(response.text)
        except ValueError:
            if retries == 1:
                raise
            retries += 1


# `page` is what the answer is called, and no state.
# expect an-empty-page: retry attempts=4 delay=none
def an_empty_page(session, url):
    for _ in range(4):
        page = session.request(url).text
        if page.find("Not Found") > 0:
            break
        user = parse_user(page)
        if user:
            return user
        log.debug("empty page, retrying")
    return None


# expect read-on-where-it-broke: retry attempts=6 delay=constant base=1000
def read_on(body, file, opener):
    failed, done = 0, 0
    while True:
        try:
            chunk = body.read(65536)
        except IOError:
            failed += 1
            if failed > 5:
                raise
            time.sleep(1)
            body = opener.open_at(done)
            continue
        if not chunk:
            break
        done += len(chunk)
        file.write(chunk)


# expect put-back-with-its-count: retry attempts=5 delay=dynamic
def deliver(self, task, tries):
    try:
        self.api.send(task)
    except Exception:
        tries += 1
        if tries < 5:
            self.queue.put((task, tries))


# expect put-back-one-by-one: retry attempts=infinite delay=none
def deliver_all(self, items):
    try:
        self.execute(items)
    except Exception:
        for item in items:
            self.pending_queue.put(item)


# expect pending-again: retry attempts=infinite delay=none
def run_job(api, job):
    try:
        api.run(job)
    except Exception:
        job.status = "pending"
        job.save()


# expect marked-pending-again: retry attempts=infinite delay=none
def run_jobs(api, jobs):
    try:
        api.run(jobs)
    except Exception:
        mark_jobs(jobs, JobStatus.PENDING)


# expect what-failed-again: retry attempts=3 delay=constant base=1000
def send_all(client, messages):
    pending = messages
    for _ in range(3):
        failed = []
        for message in pending:
            try:
                client.send(message)
            except OSError:
                failed.append(message)
        if not failed:
            break
        pending = failed
        time.sleep(1)


# expect all-of-it-again: retry attempts=3 delay=none
def read_all(repository):
    for _ in range(MERGE_ATTEMPTS):
        hashes = list_hashes(repository)
        complete = True
        merged = []
        for one in hashes:
            part = read_from_repository(repository, one)
            if part is None:
                complete = False
                break
            merged.append(part)
        if complete:
            return merged
        # a part is gone: list them anew and retry


MERGE_ATTEMPTS = 3


# expect checked-and-again: retry attempts=2 delay=none
def cleanup(folder):
    try:
        remove_tree(folder)
    except (TypeError, AttributeError) as error:
        if "None" not in f"{error}":
            raise
        remove_tree(folder)


# expect alike-but-for-its-settings: retry attempts=2 delay=none
def find_file(name):
    (url, etag, error) = metadata_or_catch(name=name, endpoint=HOST, etag_timeout=10)
    if error is not None and is_transient(error):
        logger.info("No local file. Retrying..")
        (url, etag, error) = metadata_or_catch(
            name=name, endpoint=HOST, etag_timeout=60, retry_on_errors=True
        )
    if error is not None:
        raise error
    return url


# expect handed-to-the-loop: retry attempts=4 delay=constant base=2000
def poke(loop, client, n=0):
    try:
        client.send("poke")
    except OSError:
        if n < 3:
            loop.call_later(2, poke, loop, client, n + 1)


# expect awaited-though-its-name-is-that-of-a-dictionary: retry attempts=infinite delay=constant base=30000
async def install(image):
    while True:
        try:
            await image.update(version)
            break
        except (ImageError, JobError):
            pass
        await asyncio.sleep(30)

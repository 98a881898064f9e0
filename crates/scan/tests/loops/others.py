# N01
def n01(job):
    while job.status() not in ("done", "failed"):
        time.sleep(2)


# N03
def n03(queue):
    while True:
        item = queue.get()
        try:
            handle(item)
        except Exception:
            log.exception("failed")


# N06
def n06(api):
    page = 1
    while True:
        rows = api.list(page=page)
        if not rows:
            break
        page += 1
        time.sleep(0.25)


# expect N07: wait-for-ready attempts=60 delay=constant base=1000
for _ in range(60):
    try:
        socket.create_connection(("db", 5432), 1).close()
        break
    except OSError:
        time.sleep(1)
else:
    sys.exit("db not up")


# expect N10: conflict attempts=infinite delay=none
def n10(id):
    while True:
        row, ver = load(id)
        if update(id, change(row), expected=ver):
            break


# N11
def n11(raw):
    for enc in ("utf-8", "cp1252", "latin-1"):
        try:
            return raw.decode(enc)
        except UnicodeDecodeError:
            continue


# N14
def n14():
    while True:
        n = input("number: ")
        if n.isdigit():
            break
        print("try again")


# N18
def n18(base):
    while os.path.exists(path := f"{base}-{secrets.token_hex(3)}"):
        pass


# N20
def n20():
    wait, tries = 1, 0
    while tries < 5:
        print("attempt", tries, "waiting", wait)
        time.sleep(wait)
        wait *= 2
        tries += 1


# N24
def n24(x):
    for it in range(max_iter):
        x = x - f(x) / df(x)
        if abs(f(x)) < tol:
            break


# A counter that is only told.
def n50(msg, metrics):
    msg.attempts += 1
    if msg.attempts > 3:
        metrics.add("many")
    msg.save()


# Another name in each round.
def n51(base):
    count = 0
    while True:
        path = os.path.join(base, name_of(count))
        try:
            return open_file(path)
        except OSError as err:
            if err.errno != errno.EEXIST:
                raise
        count += 1


# Another version in each round.
def n52(versions):
    for version in versions:
        try:
            return client.load(f"lib-{version}.so")
        except OSError:
            pass


# The name is cleaned, and then it is another.
def n53(path):
    for attempt in range(2):
        try:
            return open_remote(path)
        except OSError:
            if attempt:
                raise
            old, path = path, sanitize(path)


# A state of the application, polled.
def n54(client, url, deadline):
    while datetime.datetime.now() < deadline:
        order = client.fetch(url)
        if order.status != messages.STATUS_PENDING:
            return order
        time.sleep(1)


# A thread that is not finished yet.
def n55(future):
    while True:
        try:
            return future.result(0.1)
        except TimeoutError:
            continue


# The user is told in either case.
def n56(client, folder, listener):
    try:
        client.sync(folder)
        listener.send_finished(folder)
        listener.close(folder)
    except ConnectionError as e:
        listener.send_error(e)
        listener.send_finished(folder)


# Down a structure, not again.
def n57(client, node, index):
    try:
        value = client.fetch(node)
    except ConnectionError:
        return None
    if value.child:
        return n57(client, value.child, index + 1)
    return value


# Entries are no tries, and what is retrieved is not retried.
def n63(store, key):
    while True:
        try:
            entries = store.retrieve_entries(key)
        except LookupError:
            key = parent(key)
            continue
        return entries


# A queue of this process is full.
def n64(self, batch):
    while not self.aborted.is_set():
        try:
            self.batches.put(batch, timeout=1.0)
            return
        except queue.Full:
            continue


# Read first, so that it can be parsed.
def n65(response):
    try:
        data = response.json()
    except NotRead:
        response.read()
        data = response.json()
    return data


# The state of a job, one of those that a job has.
def n66(api, job, deadline):
    while time.time() < deadline:
        stage = api.inspect_job(job).status.stage
        if stage not in ("SCHEDULING", "RUNNING"):
            return False
        time.sleep(1.0)
    return False


# A callback for each of many.
def n75(items, each):
    for item in range(len(items)):
        try:
            each(items[item])
            break
        except ValueError:
            continue


# Each of many, of which some are told that they failed.
def n80(jobs):
    for job in jobs:
        try:
            client.fetch(job.url)
        except ConnectionError as e:
            job.error = e


# Errors that do not matter, once.
def n81(client, url):
    with suppress(ConnectionError):
        client.put(url)


# Another question, which the same function answers.
def n82(client):
    try:
        return client.fetch("/v2/items", limit=10)
    except NotFound:
        return client.fetch("/v1/items", limit=10)


# A heart that beats: each beat is another one, and it waits after each.
def n83(client):
    failures = 0
    while True:
        try:
            client.send_beat()
            failures = 0
        except ConnectionError:
            failures += 1
            if failures > 3:
                raise
        time.sleep(5)


# A person types another code in each round.
def n84(client):
    while True:
        try:
            code = input("code: ")
            client.login(code)
            break
        except BadCredentials as err:
            print(err)


# Asks whether it has come about yet.
def wait_for_job(self, job):
    for _ in range(60):
        answer = self.request(job)
        if answer["state"] == "ready":
            return answer
        time.sleep(1)


# Goes on with the next page as long as there is one.
def all_pages(self, params):
    while True:
        answer = self.request(params)
        self.rows.extend(answer.rows)
        if not answer.next_page:
            break
        params.page += 1


# Nobody takes it from there again.
def work_once(self):
    item = self.inbox.get()
    try:
        self.handle(item)
    except Exception:
        self.dead_letter_queue.put(item)


# The next stage, after it went well.
def stage(self):
    item = self.hashes.get()
    try:
        self.hash(item)
        self.upload_queue.put(item)
    except Exception as error:
        self.errors_queue.put(item)


# Counts for a statistic only.
def note(self, request, error):
    retry_times = request.meta.get("retry_times", 0) + 1
    if retry_times > 3:
        self.alerts.add(request)
    metrics.gauge("retry_times", retry_times)


# Each round has another message, and too many bad ones end it.
def drain(self):
    failures = 0
    while True:
        message = self.inbox.fetch()
        try:
            self.handle(message)
        except Exception:
            failures += 1
            if failures > 5:
                raise
            time.sleep(1)


# Follows where the answer says.
def follow(session, url):
    while True:
        response = session.get(url)
        if response.status_code >= 300:
            url = response.headers["Location"]
            continue
        return response


# Asks until a person has agreed.
def device_token(session, interval):
    while time.time() < DEADLINE:
        time.sleep(interval)
        response = session.post(TOKEN_URL)
        if response.ok:
            return response.json()
        if response.json()["error"] == "authorization_pending":
            continue
        raise RuntimeError(response.text)


# The next of a list, which is another one.
def walk(node):
    while node:
        node = node.next()
        if not node.valid:
            log.warning("broken")


# Counts wrong passwords, and puts nothing back.
def wrong_password(cache, user, attempts):
    try:
        check(user)
    except WrongPassword:
        attempts += 1
        if attempts < 5:
            cache.set(user, attempts)


# A state of the screen.
def show(self, view):
    try:
        self.load(view)
    except Exception:
        self.state = "ready"
        view.state = "failed"


# Polls with a pause, and takes what there is.
def pages_with_a_pause(session, url):
    offset = 0
    while True:
        response = session.get(url, params={"offset": offset})
        data = response.json()
        if not data["items"]:
            break
        offset += len(data["items"])
        time.sleep(1)


# Another state of what is waited for.
def until_built(client, build):
    for _ in range(30):
        response = client.request(build)
        state = response.json()["state"]
        if state == "ready":
            return
        time.sleep(1)


# A person types another one.
def unlock(key):
    for retry in range(3):
        passphrase = Passphrase.getpass("Passphrase: ")
        if key.load_any(passphrase):
            break
    else:
        raise PasswordRetriesExceeded


# What failed is only counted.
def send_once(client, pages):
    for page in pages:
        failed = []
        for message in page:
            try:
                client.send(message)
            except OSError:
                failed.append(message)
        if failed:
            report(failed)


# Another argument is what is wrong.
def parsed(text):
    try:
        return load_settings(text)
    except ValueError as error:
        if "empty" not in str(error):
            raise
        return load_settings("{}")


# The rest of a list, and not what was left of it.
def in_portions(client, items):
    rounds = 0
    left = items
    while left and rounds < 10:
        portion, left = left[:25], left[25:]
        client.write(portion)
        rounds += 1


# Whoever is responsible is asked, three times over.
def three_passes(plugins, event):
    for n in range(3):
        for plugin in plugins:
            if plugin.can_handle(event):
                plugin.handle(event)
                break


# A failed row is marked and counted, and nobody takes it again.
def marked(db, job):
    try:
        run(job)
    except Exception:
        db.execute("UPDATE jobs SET state = 'failed', attempts = attempts + 1 WHERE id = ?", job)


# An attribute is counted to its end with each page.
def by_offset(client, done):
    offset = 0
    while True:
        rows = client.fetch(offset)
        if not rows:
            break
        try:
            client.send(rows)
        except OSError:
            done.append(offset)
        offset += 100


# More of it is read until it can be taken apart.
def request_of(reader):
    data = bytes(reader.read())
    while True:
        try:
            return parser_module.parse_request(data, limit=LIMIT)
        except parser_module.IncompleteError:
            reader.fill()
            data = bytes(reader.read())

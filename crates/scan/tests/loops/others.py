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

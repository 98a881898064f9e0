# Rounds that are only counted, codes that programs end with, and queues that have nothing yet.


# expect counted-by-a-helper: retry attempts=dynamic delay=none
def counted_by_a_helper(operation, kinds, most=None):
    def run(*args):
        for tries in itertools.count(1):
            try:
                return operation(*args)
            except kinds as error:
                if most is not None and tries >= most:
                    raise
                note(error)
            except ConnectionError:
                if tries >= most:
                    raise
                forget(most - tries)

    return run


# expect counted-from-nothing: retry attempts=4 delay=constant base=2000
def counted_from_nothing(client):
    for attempt in count():
        try:
            return client.fetch("/one")
        except OSError:
            if attempt == 3:
                raise
            time.sleep(2)


# expect so-many-times: retry attempts=4 delay=none
def so_many_times(client):
    for _ in itertools.repeat(None, 4):
        try:
            return client.fetch("/two")
        except OSError as error:
            last = error
    raise last


# What is counted is what is asked for.
def page_after_page(client):
    for page in itertools.count(1):
        rows = client.fetch("/rows", page)
        if not rows:
            break
        keep(rows)


# A name that nobody has yet.
def first_free(client, base):
    for number in itertools.count():
        try:
            return client.create(f"{base}-{number}")
        except Conflict:
            continue


# expect what-it-ended-with: retry attempts=5 delay=none
def what_it_ended_with(target):
    tries = 5
    while tries:
        code, text = deploy(target)
        bad = code != 0 or bool(missing(target))
        if not bad:
            break
        show(text)
        tries = tries - 1


# expect ended-with-nothing: retry attempts=3 delay=constant base=1000
def ended_with_nothing(command):
    for attempt in range(3):
        text, returncode = run_it(command)
        if not returncode:
            return text
        time.sleep(1)


# A number of what there is, and no code.
def as_many_as_there_are(command):
    for attempt in range(3):
        text, amount = run_it(command)
        if amount == 0:
            return text
        show(text)


# expect a-file-that-is-held: retry attempts=2 delay=none
def a_file_that_is_held(source, folder):
    for _ in range(2):
        target = os.path.join(folder, stamp())
        try:
            os.replace(source, target)
            return
        except OSError:
            log.warning("another one was faster, retrying")


# Of a text the same word only makes another text.
def a_text(text):
    for attempt in range(2):
        try:
            return text.replace("a", "b")
        except AttributeError:
            log.warning("no text, attempt %s", attempt)


# Nothing there yet.
def until_there_is_one(self, timeout):
    begun = monotonic()
    while True:
        try:
            self.channel.drain(timeout=timeout)
        except queue.Empty:
            if monotonic() - begun >= timeout:
                raise
            time.sleep(self.interval)
        else:
            break


# expect too-full: retry attempts=infinite delay=constant base=1000
def too_full(self, item):
    while True:
        try:
            self.channel.publish(item)
            break
        except queue.Full:
            time.sleep(1)

# expect refreshed: retry attempts=infinite delay=constant base=5000
class Refreshed:
    def open(self):
        while not self._session:
            try:
                self.refresh_session()
            except ConsulError:
                log.info("waiting")
                time.sleep(5)


# Nothing says that what is consumed sets it.
class Consumer:
    def run(self):
        while not self.stopped:
            try:
                self.client.consume()
            except ConsulError:
                time.sleep(5)


# Its name is that of what is done, but the loop itself counts it.
class Refills:
    def run(self):
        while not self.batches:
            try:
                self.client.load_batches()
            except ConsulError:
                time.sleep(5)
            self.batches = self.left()


# expect run_twice: retry attempts=2 delay=constant base=5000
def run_twice(process, command):
    for failures in range(0, 2):
        try:
            ret = process.client.call(command)
            if ret == 0:
                break
            log.error("exited with %s", ret)
        except OSError as error:
            log.error("failed: %s", error)
        if failures < 1:
            time.sleep(5)
    return ret


# expect Grows: retry attempts=dynamic delay=exponential jitter=additive
class Grows:
    def __init__(self, max_tries=4, delay=0.5, most=30):
        self.max_tries = max_tries
        self.delay = delay
        self.most = float(most)
        self._tries = 0
        self._now = delay

    def reset(self):
        self._tries = 0
        self._now = self.delay

    @property
    def pause(self):
        return self._now + random.random()

    def longer(self):
        self._now = min(self._now * 2, self.most)

    def call(self, function):
        self.reset()
        while True:
            try:
                return function()
            except OSError:
                if self._tries == self.max_tries:
                    raise
                self._tries += 1
                time.sleep(self.pause)
                self.longer()

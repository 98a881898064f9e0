# What failed is given back with a count of its attempts.


# expect a-copy-with-a-count: retry attempts=dynamic delay=none
def retry_of(job, reason, most):
    tries = job.meta.get("tries", 0) + 1
    if tries <= most:
        again = job.copy()
        again.meta["tries"] = tries
        return again
    log.error("gave up %s: %s failed", job, reason)
    return None


# expect a-copy-in-one: retry attempts=4 delay=none
def next_attempt(job, error):
    tries = job.tries + 1
    if tries > 3:
        return None
    return replace(job, tries=tries)


# A state of a screen that says how often it failed.
def reduced(state, error):
    tries = state.tries + 1
    if tries < 3:
        again = state.copy()
        again.tries = tries
        return again
    return state


# expect told-and-sent-again: retry attempts=4 delay=none
def on_failure(self, job, error):
    tries = getattr(job, "_tries", 0)
    if tries >= 3:
        log.error("giving up after %d", tries)
        return
    job._tries = tries + 1
    self.connection.register(self.receiver, job)


# Only told of it.
def on_error(self, job, error):
    tries = getattr(job, "_tries", 0)
    if tries >= 3:
        return
    job._tries = tries + 1
    self.connection.report_failed(job)

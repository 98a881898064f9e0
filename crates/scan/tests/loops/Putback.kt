// expect a-copy-with-a-count: retry attempts=4 delay=none
fun retryOf(job: Job, error: Throwable): Job? {
    val tries = job.tries + 1
    if (tries > 3) {
        log.error("failed", error)
        return null
    }
    return job.copy(tries = tries)
}

class Ticks {
    // expect asked-in-a-condition: retry attempts=infinite delay=constant base=5000
    private fun openTask() = synchronized(lock) {
        val period = 5L
        task = pool.scheduleAtFixedRate({
            try {
                if (!connectToBroker()) {
                    log.warn("Not connected, once more in $period seconds")
                } else {
                    synchronized(lock) {
                        task?.cancel(false)
                        task = null
                    }
                }
            } catch (e: Exception) {
                log.error("Not connected", e)
            }
        }, 0, period, TimeUnit.SECONDS)
    }

    // It looks how far something is.
    private fun watch() {
        task = pool.scheduleWithFixedDelay({
            try {
                if (client.isReady()) {
                    task?.cancel(false)
                }
            } catch (e: Exception) {
                log.error("no answer", e)
            }
        }, 0, 1, TimeUnit.SECONDS)
    }
}

// expect H32: retry attempts=dynamic usual=4 expression=times delay=exponential base=100 schedule=100,200,400 cap=1000 jitter=none
suspend fun <T> io(times: Int = 4, block: suspend () -> T): T {
    var d = 100L
    repeat(times - 1) {
        try {
            return block()
        } catch (e: IOException) {
        }
        delay(d)
        d = (d * 2).coerceAtMost(1000)
    }
    return block()
}

// expect R09: retry attempts=4 delay=constant base=250
suspend fun r09(client: Client) {
    var tries = 0
    while (!client.send("hello")) {
        if (++tries > 3) throw IOException()
        delay(250)
    }
}

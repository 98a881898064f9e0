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

// expect told-by-an-object: retry attempts=infinite delay=constant base=5000
fun toldByAnObject() {
    client.connect(object : Callback {
        override fun onFailure(e: Exception) {
            handler.postDelayed({ toldByAnObject() }, 5000)
        }

        override fun onSuccess() {}
    })
}

// expect or-else: retry attempts=2 delay=none
suspend fun orElse(client: Client): Data {
    return runCatching { client.load() }.getOrElse { client.load() }
}

// expect limit-of-its-class: retry attempts=dynamic expression=limit+1 delay=none
class Again(private val limit: Int) : Interceptor {
    override fun intercept(chain: Chain): Response {
        var response = chain.proceed(chain.request())
        var tries = 0
        while (!response.isSuccessful && tries < limit) {
            tries++
            response.close()
            response = chain.proceed(chain.request())
        }
        return response
    }
}

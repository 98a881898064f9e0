class Again {
    // expect another_one: retry attempts=dynamic usual=3 delay=none
    private fun invite(request: Request, retryCount: Int = 2, exclude: List<Address> = emptyList()) {
        val instance = choose(exclude) ?: return
        val answer = link.sendAndGetAnswer(request.to(instance))
        if (answer == null || answer.error != null) {
            if (retryCount > 0) {
                invite(request, retryCount - 1, exclude + instance)
            }
            return
        }
        request.answer(answer)
    }

    // It goes on to what it has found.
    private fun collect(page: Page, seen: List<Page> = emptyList()) {
        val next = link.fetchNext(page)
        if (next != null) {
            collect(next, seen + page)
        }
    }
}

// expect Failed: retry attempts=infinite delay=constant base=100
suspend fun load() {
    api.load().onFailure {
        delay(100)
        load()
    }
}

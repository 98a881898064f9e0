# expect a-handler-decides: retry attempts=dynamic delay=dynamic
def a_handler_decides(self, url, req):
    state = State()
    rounds = 0
    while rounds < 100:
        rounds += 1
        state.again = False
        try:
            return self.send_request(url, req)
        except Exception as error:
            for handler in self.retry_handlers:
                if handler.can_retry(state=state, error=error):
                    handler.prepare_for_next(state=state, error=error)
                    break
            if state.again is False:
                raise error


# expect on-a-new-session: retry attempts=2 delay=none
async def on_a_new_session(self, text):
    session = self.current
    try:
        await session.send(text)
    except ConnectionClosed as error:
        log.debug("the session was replaced, retrying once")
        if await self.is_connected():
            await self.current.send(text)
        else:
            raise error


# expect an-empty-answer: retry attempts=3 delay=constant base=250
def an_empty_answer(app):
    answer = None
    for n in range(3):
        answer = app.control.inspect().ping()
        if answer:
            break
        if n < 2:
            time.sleep(0.25)
    return answer


# expect a-stream-again: retry attempts=4 delay=linear
async def a_stream_again(client, query):
    failures = 0
    while True:
        try:
            async for row in client.stream(query):
                yield row
            return
        except ConnectionError:
            failures += 1
            if failures > 3:
                raise
            await asyncio.sleep(failures)


# expect what-was-not-processed: retry attempts=10 delay=none
def what_was_not_processed(table, items):
    left = items
    rounds = 0
    while left and rounds < 10:
        answer = table.batch_write(RequestItems=left)
        left = answer.get("UnprocessedItems")
        rounds += 1


# expect counted-in-a-row: retry attempts=dynamic delay=dynamic
def counted_in_a_row(db, job):
    try:
        deliver(job)
    except Exception:
        if job.attempts + 1 >= 5:
            db.execute("UPDATE jobs SET state = 'failed' WHERE id = ?", job.id)
        else:
            db.execute(
                "UPDATE jobs SET attempts = attempts + 1, next_attempt_at = ? WHERE id = ?",
                later(job),
                job.id,
            )

class Again {
    // expect asked_once_more: retry attempts=2 delay=constant
    void askedOnceMore() throws Exception {
        Answer answer = link.sendAndGetAnswer(question(peer));
        // No answer in time: one more try.
        if (answer == null && pause > 0) {
            try {
                Thread.sleep(pause);
                answer = link.sendAndGetAnswer(question(peer));
            } catch (InterruptedException e) {
                log.error("interrupted", e);
            }
        }
        if (answer == null) {
            listener.silent(peer);
        }
    }

    private void joinIfReady() {
        if (room == null && provider.isReady()) {
            join();
        }
    }

    // expect begun_again_later: retry attempts=infinite delay=constant
    private void join() {
        try {
            room = provider.createRoom(name);
            room.open();
        } catch (IOException e) {
            log.error("not joined", e);
            room = null;
            pool.schedule(this::joinIfReady, 20, TimeUnit.SECONDS);
        }
    }

    // The handler raises in any case: it only cleans up.
    void close() throws IOException {
        try {
            loop.stop();
            connection.sendClose(code);
        } catch (IOException e) {
            log.error("again", e);
            connection.sendClose(code);
            throw e;
        }
    }
}

class Ticks {
    // expect begun_by_a_reference: retry attempts=infinite delay=constant base=2000
    void begin() {
        task = pool.scheduleWithFixedDelay(this::register, 0, 2, TimeUnit.SECONDS);
    }

    private void register() {
        try {
            client.register(name);
            task.cancel(false);
        } catch (IOException e) {
            log.warn("not registered", e);
        }
    }

    // expect round_after_round: retry attempts=infinite delay=constant base=3000
    Socket first() throws InterruptedException {
        while (true) {
            for (Address address : addresses()) {
                try {
                    return connector.connect(address);
                } catch (IOException e) {
                    log.warn("not there", e);
                }
            }
            Thread.sleep(3000);
        }
    }

    // All of them get it, round after round.
    void all() throws InterruptedException {
        while (true) {
            for (Address address : addresses()) {
                try {
                    connector.connect(address).close();
                } catch (IOException e) {
                    log.warn("not there", e);
                }
            }
            Thread.sleep(3000);
        }
    }
}

class Renewed {
    // expect new_credentials: replay attempts=2 delay=none
    Client client() throws IOException {
        try {
            return provider.connect(this);
        } catch (AuthException e) {
            // The credentials that were kept may be old: once more.
            provider.invalidate(name);
            return provider.connect(this);
        }
    }
}

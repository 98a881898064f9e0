class Waits {
    static final long RETRY_PAUSE = Long.getLong("retry.pause", 150);

    // expect W81: retry attempts=3 delay=constant base=150 jitter=none
    Answer w81(Client client) throws Exception {
        for (int attempt = 0; ; attempt++) {
            try {
                return client.fetch();
            } catch (IOException e) {
                if (attempt == 2) {
                    throw e;
                }
                Thread.sleep(RETRY_PAUSE);
            }
        }
    }

    static final int MAX_RETRIES = Integer.getInteger("max.retries", 5000);

    // More than are counted here.
    // expect W82: retry attempts=dynamic delay=constant base=150 jitter=none
    Answer w82(Client client) throws Exception {
        int tries = 0;
        while (true) {
            try {
                return client.fetch();
            } catch (IOException e) {
                tries++;
                if (tries > MAX_RETRIES) {
                    throw e;
                }
                Thread.sleep(RETRY_PAUSE);
            }
        }
    }
}

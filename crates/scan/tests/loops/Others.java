class Others {
    // N05
    void n05(BufferedReader in) {
        String s;
        while ((s = in.readLine()) != null) {
            try {
                parse(s);
            } catch (FormatException e) {
                bad++;
            }
        }
    }

    // N08, as Java writes it
    void n08(AtomicInteger a) {
        int o;
        do {
            o = a.get();
        } while (!a.compareAndSet(o, o + 1));
    }

    // N13
    void n13(Message msg) {
        if (msg.getRetryCount() > 0) metrics.counter("retries").increment(msg.getRetryCount());
    }

    // N23
    void n23() {
        await().atMost(5, SECONDS).pollInterval(100, MILLISECONDS).until(() -> repo.count() == 1);
    }
}

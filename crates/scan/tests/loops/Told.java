class Told {
    // expect told-the-count: retry attempts=dynamic delay=none
    void ack(Message message) throws Exception {
        int attempt = 1;
        while (true) {
            try {
                client.send(message);
                break;
            } catch (IOException e) {
                retry.goOnOrThrow(e, attempt);
                attempt++;
            }
        }
    }

    // expect only-written-down: retry attempts=infinite delay=constant base=100
    void counted(Message message) throws Exception {
        int attempt = 1;
        while (true) {
            try {
                client.send(message);
                break;
            } catch (IOException e) {
                retryLogger.warn("failed", attempt);
                attempt++;
                Thread.sleep(100);
            }
        }
    }

    // A text is taken apart.
    Target read(Parser parser) {
        Target target = new Target();
        while (parser.allow(END) == null) {
            switch (parser.expect(NAME)) {
                case RETRY_COUNT:
                    target.retryCount = text(parser);
                    break;
                default:
                    target.name = text(parser);
            }
        }
        return target;
    }
}

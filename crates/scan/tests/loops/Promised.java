class Promised {
    // expect asked: retry attempts=infinite delay=constant base=1000
    void asked(Message m, int attempt) {
        CompletableFuture<Answer> future = client.sendMessage(m);
        future.whenComplete((answer, error) -> {
            if (error != null) {
                askedLater(m, 1 + attempt);
                return;
            }
            done(answer);
        });
    }

    void askedLater(Message m, int attempt) {
        scheduler.schedule(() -> asked(m, attempt), 1, TimeUnit.SECONDS);
    }

    // expect told: retry attempts=infinite delay=none
    void told(Message m) {
        ListenableFuture<Answer> future = client.sendMessage(m);
        Futures.addCallback(future, new FutureCallback<Answer>() {
            @Override
            public void onSuccess(Answer answer) {
                done(answer);
            }

            @Override
            public void onFailure(Throwable t) {
                log.warn("retry", t);
                told(m);
            }
        }, executor);
    }

    // What fails is told, and that is all.
    void reported(Message m) {
        CompletableFuture<Answer> future = client.sendMessage(m);
        future.whenComplete((answer, error) -> {
            if (error != null) {
                log.warn("no retry", error);
            }
        });
    }
}

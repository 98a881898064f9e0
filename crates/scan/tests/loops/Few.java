class Few {
    // expect Sent: retry attempts=3 delay=none
    boolean sent(Message message) {
        for (int i = 0; i < 3; i++) {
            if (producer.send(message)) return true;
        }
        return false;
    }

    // Each of them once.
    boolean all(List<Message> messages) {
        for (int i = 0; i < 3; i++) {
            if (!producer.send(messages.get(i))) return false;
        }
        return true;
    }

    // expect Composed: retry attempts=dynamic expression=left+1 delay=none
    CompletableFuture<Answer> ask(Question question, int left) {
        return lookup.ask(question).exceptionallyCompose(error ->
            left > 0 ? ask(question, left - 1) : CompletableFuture.failedFuture(error));
    }
}

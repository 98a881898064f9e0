class Retries {
    static final int MAX = 3;
    static final long DELAY = 200;

    // expect H25: retry attempts=3 delay=linear base=200 schedule=200,400 jitter=none
    Object h25() throws Exception {
        for (int attempt = 1; attempt <= MAX; attempt++) {
            try {
                return call();
            } catch (IOException e) {
                if (attempt == MAX) throw e;
                Thread.sleep(DELAY * attempt);
            }
        }
        return null;
    }

    // expect H26: retry attempts=5 delay=exponential base=1000 schedule=1000,2000,4000,8000 jitter=none wasted
    void h26(Message msg) {
        int n = 0;
        boolean ok;
        do {
            ok = send(msg);
            if (!ok) Thread.sleep(1000L << n);
        } while (!ok && ++n < 5);
    }

    // expect H27: retry attempts=3 delay=none jitter=none
    Item h27(long id) {
        int k = 0;
        while (true) {
            try {
                return repo.load(id);
            } catch (TransientDataAccessException e) {
                if (++k == 3) throw e;
            }
        }
    }

    // expect H28: retry attempts=4 delay=none jitter=none
    void h28() {
        int n = 0;
        outer:
        for (;;) {
            try {
                doWork();
                break outer;
            } catch (SQLTransientException e) {
                if (++n > 3) throw e;
                continue outer;
            }
        }
    }

    // expect H29: retry attempts=dynamic expression=left+1 delay=exponential jitter=none
    CompletableFuture<T> h29(int left, long delay) {
        return callAsync().exceptionallyCompose(e -> left == 0
            ? CompletableFuture.failedFuture(e)
            : CompletableFuture.supplyAsync(() -> null, CompletableFuture.delayedExecutor(delay, MILLISECONDS))
                .thenCompose(x -> h29(left - 1, delay * 2)));
    }

    // expect H30: retry attempts=5 delay=linear base=10000 schedule=10000,20000,30000,40000 jitter=none
    void attempt(int n) {
        try {
            deliver();
        } catch (Exception e) {
            if (n < 5) pool.schedule(() -> attempt(n + 1), 10L * n, TimeUnit.SECONDS);
            else dead.add(job);
        }
    }

    void start() {
        attempt(1);
    }

    // expect H31: retry attempts=4 delay=none jitter=none
    public Response intercept(Chain c) throws IOException {
        Response r = c.proceed(c.request());
        int n = 0;
        while (!r.isSuccessful() && n < 3) {
            n++;
            r.close();
            r = c.proceed(c.request());
        }
        return r;
    }

    // expect R07: retry attempts=3 delay=server-directed pushback
    Response r07(Request request) throws Exception {
        for (int attempt = 1; ; attempt++) {
            Response response = client.execute(request);
            if (response.code() != 503 || attempt >= 3) return response;
            Thread.sleep(1000 * Long.parseLong(response.header("Retry-After")));
        }
    }

  // A variable counts, and what it counts is put back with it.
  // expect cycle: retry attempts=dynamic delay=dynamic
  void cycleRetry(Request request) {
    int tried = (Integer) request.getExtra(TRIED);
    tried++;
    if (tried < site.getRetryTimes()) {
      addRequest(copy(request).putExtra(TRIED, tried));
    }
  }

  // expect status-line: retry attempts=5 delay=constant base=1000
  String statusLine(Request request) throws Exception {
    int status = 0;
    for (int i = 0; i < 5; i++) {
      HttpResponse answer = http.execute(request);
      status = answer.getStatusLine().getStatusCode();
      if (status == 503) {
        Thread.sleep(1000);
        continue;
      }
      return read(answer);
    }
    throw new IOException("status " + status);
  }

  // expect asks-whether-to: retry attempts=infinite delay=constant base=500
  String first() throws Exception {
    Response answer = client.execute(request);
    if (shouldRetry(answer)) {
      answer.close();
      return again();
    }
    return parse(answer);
  }

  String again() throws Exception {
    retryCounter++;
    Thread.sleep(500);
    return first();
  }
}

class Handed {
    // expect told-by-an-object: retry attempts=dynamic
    void toldByAnObject(final Message message, final int attempt) {
        channel.send(message, new Callback() {
            @Override
            public void onSuccess(Receipt receipt) {
                done(receipt);
            }

            @Override
            public void onError(Exception e) {
                if (attempt < MOST) {
                    toldByAnObject(message, attempt + 1);
                } else {
                    drop(message, e);
                }
            }
        });
    }

    // expect a-task-for-a-timer: retry attempts=infinite delay=constant base=1000
    void aTaskForATimer(final Request request) {
        try {
            client.post(request);
        } catch (IOException e) {
            new Timer().schedule(new TimerTask() {
                public void run() {
                    aTaskForATimer(request);
                }
            }, 1000);
        }
    }

    // expect by-a-listener: retry attempts=infinite delay=constant base=5000
    void byAListener() {
        bootstrap.connect(host, port).addListener((ChannelFuture future) -> {
            if (!future.isSuccess()) {
                future.channel().eventLoop().schedule(() -> byAListener(), 5, TimeUnit.SECONDS);
            }
        });
    }

    // expect counted-where-it-is-asked: retry attempts=4
    void failed(Call call, IOException e, Request request) {
        if (request.attempts++ < 3) {
            call.copy().enqueue(this);
        } else {
            listener.failed(e);
        }
    }

    // expect handler-of-a-client: retry attempts=6 delay=none
    class Handler implements HttpRequestRetryHandler {
        public boolean retryRequest(IOException failure, int executionCount, HttpContext context) {
            if (executionCount > 5) {
                return false;
            }
            return !(failure instanceof UnknownHostException);
        }
    }

    // expect left-in-the-answer: retry attempts=dynamic delay=none
    void leftInTheAnswer(Map<String, List<WriteRequest>> items) {
        BatchWriteItemResponse response = db.batchWriteItem(items);
        int tries = 0;
        while (!response.unprocessedItems().isEmpty() && tries < MOST) {
            response = db.batchWriteItem(response.unprocessedItems());
            tries++;
        }
    }

    // expect left-in-a-reference: retry attempts=26 delay=none
    void leftInAReference(Map<String, List<WriteRequest>> items) {
        AtomicReference<BatchWriteItemResponse> outcome = new AtomicReference<>();
        writeAndStore(items, outcome);
        int attempts = 0;
        while (!outcome.get().unprocessedItems().isEmpty() && attempts < 25) {
            writeAndStore(outcome.get().unprocessedItems(), outcome);
            ++attempts;
        }
    }

    // expect nothing-there: retry attempts=3 delay=constant base=500
    Optional<Token> nothingThere() {
        for (int i = 0; i < 3; i++) {
            Optional<Token> token = authClient.requestToken();
            if (token.isPresent()) {
                return token;
            }
            sleepQuietly(500);
        }
        return Optional.empty();
    }

    static class Pending {
        // expect counts-and-starts-over: retry attempts=dynamic delay=dynamic
        private Reply retry() throws Exception {
            retryCounter++;
            call = client.newCall(request);
            return this.await();
        }

        private Reply await() throws Exception {
            if (retryCounter > 0) {
                Thread.sleep(delayOf(retryCounter));
            }
            call.enqueue(this);
            Response response = answers.take();
            if (isTransient(response)) {
                return retry();
            }
            return parse(response);
        }

        private boolean isTransient(Response response) {
            return response.code() >= 500 && retryCounter < maxRetries;
        }
    }

    class Copy extends Thread {
        // expect started-again: retry attempts=dynamic delay=none
        Copy(int remainingTries) {
            setUncaughtExceptionHandler((t, e) -> {
                if (remainingTries > 0) {
                    LOGGER.log(Level.WARNING, "started again", e);
                    new Copy(remainingTries - 1).start();
                } else {
                    close();
                }
            });
        }
    }
}

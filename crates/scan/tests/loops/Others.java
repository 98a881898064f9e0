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

class MoreOthers {
    // Another element in each round.
    void n61(List<String> names) {
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            try {
                client.load(name);
                break;
            } catch (IOException e) {
                log.warn("skipped", e);
            }
        }
    }

    // A worker goes on after each, well or not, while it runs.
    void n68() {
        do {
            try {
                final long done = processNextSlot();
                if (done == 0) {
                    Thread.sleep(1000);
                }
            } catch (Exception e) {
                log.warn("slot failed", e);
                Thread.sleep(5000);
            }
        } while (running.get());
    }

    // The same fallback for two reasons.
    Optional<String> n69(List<String> numbers) {
        try {
            if (country(numbers) != null) {
                return numbers.stream().max(byLength);
            }
            return numbers.stream().sorted().findFirst();
        } catch (NumberParseException e) {
            return numbers.stream().sorted().findFirst();
        }
    }
}

class Waiting {
    // It waits for the same answer, and asks for it once.
    void pong() throws IOException {
        Future<?> answer = channel.callAsync(new Ping());
        long left = 1000;
        do {
            try {
                answer.get(left, TimeUnit.NANOSECONDS);
                return;
            } catch (ExecutionException e) {
                dead(e);
                return;
            } catch (TimeoutException e) {
                left = end - System.nanoTime();
            }
        } while (left > 0);
    }

    // Only closing is done twice.
    void rest() {
        while (data.remaining() > 0) {
            try {
                if (out.write(data) == -1) {
                    doCloseSend();
                    return;
                }
            } catch (IOException e) {
                try {
                    doCloseSend();
                    return;
                } catch (IOException other) {
                    // closed already
                }
            }
        }
    }

    // It is kept, and who called it is told.
    void received(ByteBuffer data) throws IOException {
        try {
            next().doSend(data);
        } catch (IOException e) {
            sendQueue.put(data);
            throw e;
        }
    }

    // Each round goes to the next host, which is kept in a field.
    void anyHost() throws IOException {
        for (Host host : hosts) {
            this.current = host;
            try {
                this.connect();
                return;
            } catch (IOException e) {
                log.warn("next", e);
            }
        }
        throw new IOException("none");
    }

    // It is told of failures, and does nothing about them.
    void onlyTold(final Message message) {
        channel.send(message, new Callback() {
            public void onError(Exception e) {
                log.warn("lost", e);
            }
        });
    }

    // Never again.
    class Never implements HttpRequestRetryHandler {
        public boolean retryRequest(IOException failure, int executionCount, HttpContext context) {
            return false;
        }
    }

    // The next page, a few times.
    void pages() throws Exception {
        Page page = db.query(request);
        int n = 0;
        while (!page.lastKey().isEmpty() && n < MOST) {
            page = db.query(request.startingAt(page.lastKey()));
            n++;
        }
    }

    // Elsewhere, where it is not here.
    Optional<User> elsewhere(String name) {
        Optional<User> user = cache.find(name);
        if (user.isPresent()) {
            return user;
        }
        return database.find(name);
    }

    // Another one, as the answer says.
    private Reply follow(Response response) throws Exception {
        if (response.isRedirect() && hops < MOST_HOPS) {
            hops++;
            call = client.newCall(response.location());
            return await(call);
        }
        return new Reply(response);
    }
}

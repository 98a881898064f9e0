class Schedules {
    private final List<Long> waits = Arrays.asList(50L, 100L, 200L);

    // What is sent again is a copy of what was sent.
    // expect copy: retry attempts=4 delay=exponential base=50
    Response copy(Request request) throws IOException {
        Response response = client.newCall(request).execute();
        int n = 0;
        while (response.code() >= 500 && n < waits.size()) {
            Thread.sleep(waits.get(n));
            Request retryRequest = request.newBuilder().header("n", String.valueOf(n + 1)).build();
            response = client.newCall(retryRequest).execute();
            n++;
        }
        return response;
    }

    // The next one is another.
    Response pages(Request request) throws IOException {
        Response response = client.newCall(request).execute();
        while (response.code() == 200 && response.hasNext()) {
            Request nextRequest = next(response);
            response = client.newCall(nextRequest).execute();
        }
        return response;
    }
}

class Schedules
{
    private readonly List<int> waits = [50, 100, 200];

    // What is built as the first was is the same.
    // expect built: retry attempts=4 delay=exponential base=50
    async Task<HttpResponseMessage> Built(string method, string path)
    {
        var request = BuildRequest(method, path);
        var response = await http.SendAsync(request);
        for (var index = 0; index < waits.Count; index++)
        {
            if ((int)response.StatusCode < 500) break;
            Thread.Sleep(waits[index]);
            HttpRequestMessage second = BuildRequest(method, path);
            second.Headers.Add("n", (index + 1).ToString());
            response = await http.SendAsync(second);
        }
        return response;
    }
}

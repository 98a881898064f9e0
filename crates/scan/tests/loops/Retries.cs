class Retries
{
    // expect H45: retry attempts=4 delay=exponential base=1000 schedule=1000,2000,4000 jitter=none
    async Task<R> H45(CancellationToken ct)
    {
        for (var attempt = 0; attempt <= 3; attempt++)
        {
            try { return await CallAsync(ct); }
            catch (HttpRequestException) when (attempt < 3)
            {
                await Task.Delay(TimeSpan.FromSeconds(Math.Pow(2, attempt)), ct);
            }
        }
        throw new UnreachableException();
    }

    // expect H46: retry attempts=4 delay=linear base=1000 schedule=1000,2000,3000 jitter=none
    async Task<R> H46(Func<Task<R>> op)
    {
        for (int i = 0; i < 3; i++)
        {
            try { return await op(); }
            catch { await Task.Delay(1000 * (i + 1)); }
        }
        return await op();
    }

    // expect H47: retry attempts=6 delay=constant jitter=random
    async Task H47()
    {
        var n = 0;
    retry:
        try { await store.SaveAsync(); }
        catch (ThrottledException) when (n++ < 5)
        {
            await Task.Delay(Random.Shared.Next(100, 1000));
            goto retry;
        }
    }

    // expect H48: retry attempts=3 delay=none jitter=none
    protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage m, CancellationToken ct)
    {
        HttpResponseMessage r = null!;
        for (var i = 0; i < 3; i++) { r = await base.SendAsync(m, ct); if (r.IsSuccessStatusCode) return r; }
        return r;
    }

    // N19
    void N19(List<string> files)
    {
        foreach (var f in files) { try { Upload(f); } catch (IOException) { failed.Add(f); continue; } }
    }
}

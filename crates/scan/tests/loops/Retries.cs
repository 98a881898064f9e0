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

    // expect R08: retry attempts=3 delay=server-directed pushback
    async Task<HttpResponseMessage> R08(string url)
    {
        for (var attempt = 1; ; attempt++)
        {
            var response = await client.GetAsync(url);
            if (response.IsSuccessStatusCode || attempt >= 3) return response;
            await Task.Delay(response.Headers.RetryAfter.Delta.Value);
        }
    }

    // An overload is another function.
    async Task<Item> N59(string id, CancellationToken ct)
    {
        var host = FindHost(id);
        try
        {
            return await N59(host, id, ct);
        }
        catch (HttpRequestException)
        {
            return null;
        }
    }

    abstract Task<Item> N59(Host host, string id, CancellationToken ct);

    // One finding, not one more for the call that is configured.
    // expect R60: retry attempts=2 delay=none
    async Task<Item> R60(string id)
    {
        try
        {
            return await client.FetchAsync(id).ConfigureAwait(false);
        }
        catch (TransientException)
        {
            return await client.FetchAsync(id).ConfigureAwait(false);
        }
    }

    // A shorter path in each round.
    async Task<Site> N70(string[] pieces)
    {
        for (int i = pieces.Length; i > 0; i--)
        {
            try
            {
                string request = string.Format("sites:/{0}", string.Join("/", pieces.Take(i)));
                return await client.GetAsync<Site>(request);
            }
            catch (GraphException)
            {
            }
        }
        return null;
    }

    // What is there is looked at first, and taken away at last.
    async Task N71(string path)
    {
        if (File.Exists(path))
            throw new InvalidOperationException("already there, so a retry would fail");
        try
        {
            await FillAsync(path);
        }
        catch (EmptyException)
        {
            // Even a retry would fail while it is there.
            if (File.Exists(path))
                File.Delete(path);
            throw;
        }
    }

    // A name that nobody has.
    async Task<string> N72(string name, string hash)
    {
        var target = name;
        var count = 0;
        while (await store.FileExists(target) && count < 1000)
        {
            try
            {
                if (await HashOf(target) == hash)
                {
                    await marker.SetVerifiedAsync(hash);
                    break;
                }
            }
            catch (IOException e)
            {
                Log.Warning(e, "cannot be read");
            }
            target = name + " (" + (count++).ToString() + ")";
        }
        return target;
    }
}

// Fields that a constructor sets without saying `this`, and a helper that makes ready or fails.
class Manager
{
    private readonly int limit;
    private IClient? client = null;

    Manager(Options options)
    {
        limit = options.NumberOfRetries;
    }

    private void MakeReady()
    {
        if (client != null)
            return;
        client = Loader.Load(options) ?? throw new InvalidOperationException("cannot be loaded");
        if (client == null || !client.Streams)
            throw new InvalidOperationException("does not stream");
    }

    // expect R61: retry attempts=dynamic expression=limit+1 delay=constant base=500
    async Task R61(Item item)
    {
        int retries = 0;
        do
        {
            MakeReady();
            try
            {
                await ExecuteAsync(item);
                return;
            }
            catch (Exception)
            {
                retries++;
                if (retries <= limit)
                    await Task.Delay(500);
            }
        } while (retries <= limit);
    }

    private async Task GiveUp(Exception e)
    {
        await session.CloseAsync();
        throw new UploadException(e);
    }

    // expect R62: retry attempts=3 delay=constant base=1000
    async Task R62(Request request)
    {
        for (int attempt = 0; attempt < 3; attempt++)
        {
            try
            {
                await client.SendAsync(request);
            }
            catch (ServerException e)
            {
                if (request.Position != 0)
                {
                    if (request.CanSeek)
                        request.Rewind();
                    else
                        await this.GiveUp(e);
                }
                if (attempt >= 2)
                    await this.GiveUp(e);
                else if (e.Transient)
                {
                    await Task.Delay(1000);
                    continue;
                }
                else
                    await this.GiveUp(e);
            }
            break;
        }
    }

    // What failed of many is sent again.
    // expect R63: retry attempts=dynamic delay=constant base=5000
    async Task R63(Config config, List<Item> items)
    {
        var (copied, errors) = await CopyAsync(items);
        if (!errors.Any())
            return;
        for (int i = 0; i < config.Retry; i++)
        {
            await Task.Delay(5000);
            (copied, errors) = await CopyAsync(items);
            if (!errors.Any())
                break;
        }
    }
}

class Values
{
    // Each round takes the next of those that wait.
    async Task<Value> N74()
    {
        while (waiting.TryTake(out IPending pending, timeout))
        {
            try
            {
                return await pending.CreateAsync();
            }
            catch (Exception e)
            {
                last = e;
            }
        }
        throw last;
    }

    // expect status-in-a-variable: retry attempts=4 delay=server-directed
    async Task<HttpResponseMessage> StatusInAVariable(HttpRequestMessage message)
    {
        var response = await client.SendAsync(message);
        var status = (int)response.StatusCode;
        var n = 0;
        while (status == 429 && n++ < 3)
        {
            await Task.Delay(response.Headers.RetryAfter.Delta.Value);
            response = await client.SendAsync(message);
            status = (int)response.StatusCode;
        }
        return response;
    }

    // expect pending-again: retry attempts=infinite delay=none
    async Task PendingAgain(Job job)
    {
        try
        {
            await api.RunAsync(job);
        }
        catch (Exception)
        {
            job.Status = JobStatus.Pending;
            await db.SaveChangesAsync();
        }
    }
}

class Handed
{
    // expect by-its-task: retry attempts=dynamic
    async Task ByItsTask(Request request, int attempt, int most)
    {
        await client.PostAsync(request).ContinueWith(task =>
        {
            if (task.IsFaulted && attempt < most)
                return ByItsTask(request, attempt + 1, most);
            return task;
        });
    }

    // expect a-file-that-others-hold: retry attempts=10 delay=constant base=1000
    void AFileThatOthersHold(string from, string to)
    {
        for (int i = 1; i <= 10; ++i)
        {
            try
            {
                File.Copy(from, to, true);
                break;
            }
            catch (IOException)
            {
                Thread.Sleep(1000);
            }
        }
    }

    // expect policy-of-a-connection: retry attempts=6
    class Again : IRetryPolicy
    {
        public TimeSpan? NextRetryDelay(RetryContext context)
        {
            if (context.PreviousRetryCount >= 5) return null;
            return TimeSpan.FromSeconds(Math.Pow(2, context.PreviousRetryCount));
        }
    }

    // Until it has come to that state: each answer is a good one.
    async Task UntilDone(string id)
    {
        while (true)
        {
            var job = await api.GetJobAsync(id);
            if (job.Status == "done") return;
            await Task.Delay(1000);
        }
    }

    // Never again.
    class Never : IRetryPolicy
    {
        public TimeSpan? NextRetryDelay(RetryContext context) => null;
    }
}

class Limits
{
    // expect one-of-two-limits: retry attempts=6 delay=exponential base=1000
    async Task<Token> OneOfTwoLimits(Request request)
    {
        var retries = 0;
        while (true)
        {
            try
            {
                return await client.PostAsync(request);
            }
            catch (Exception ex)
            {
                var refused = false;
                if (ex is HttpRequestException { StatusCode: not null } known)
                {
                    var code = (int)known.StatusCode;
                    refused = code is >= 400 and <= 499;
                }
                if (retries >= (refused ? 1 : 5))
                    throw;
                await Task.Delay(TimeSpan.FromSeconds(Math.Pow(2, retries)));
                retries++;
            }
        }
    }

    // expect waited-for-in-place: retry attempts=2 delay=constant base=1100
    Recording WaitedForInPlace(string id)
    {
        Recording found = null;
        try
        {
            last = DateTime.Now;
            found = client.Recordings.GetAsync(id).GetAwaiter().GetResult();
        }
        catch
        {
            Thread.Sleep(1100);
            try
            {
                last = DateTime.Now;
                found = client.Recordings.GetAsync(id).GetAwaiter().GetResult();
            }
            catch { }
        }
        return found;
    }

    // expect after-a-pause: retry attempts=2 delay=constant base=2000
    Artist AfterAPause(string name)
    {
        try
        {
            return query.FindArtists(name).First();
        }
        catch
        {
            Thread.Sleep(2000);
            return query.FindArtists(name).First();
        }
    }

    // expect then-asked-about: retry attempts=2 delay=constant base=1100
    IEnumerable<Recording> ThenAskedAbout(string name)
    {
        Found found = null;
        try
        {
            found = client.Recordings.SearchAsync(name).GetAwaiter().GetResult();
        }
        catch
        {
            Thread.Sleep(1100);
            try
            {
                found = client.Recordings.SearchAsync(name).GetAwaiter().GetResult();
            }
            catch { }
        }
        if (found != null && found.Count > 0)
        {
            return found.Items;
        }
        return null;
    }

    // What does it has the same name and is kept in a field.
    // expect same-name-of-a-field: retry attempts=6 delay=constant base=250
    async Task Upload(string path, int tries = 0)
    {
        if (tries > 5)
        {
            return;
        }
        try
        {
            _storage.Upload(path);
        }
        catch (IOException)
        {
            await Task.Delay(250).ConfigureAwait(false);
            await Upload(path, tries + 1).ConfigureAwait(false);
        }
    }
}

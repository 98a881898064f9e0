class Rotates
{
    // expect Around: retry attempts=dynamic expression=maxAttempts delay=constant base=1000
    async Task<Receipt> Around(Message message, List<Server> candidates)
    {
        for (var attempt = 1; attempt <= maxAttempts; attempt++)
        {
            var index = (attempt - 1) % candidates.Count;
            var server = candidates[index];
            try
            {
                return await client.SendMessage(server.Endpoint, message);
            }
            catch (Exception)
            {
                if (attempt >= maxAttempts) throw;
                await Task.Delay(1000);
            }
        }
        throw new TimeoutException();
    }

    // One after the other, and each once.
    async Task All(Message message, List<Server> candidates)
    {
        for (var at = 0; at < candidates.Count; at++)
        {
            try
            {
                await client.SendMessage(candidates[at].Endpoint, message);
            }
            catch (Exception e)
            {
                log.Warn(e);
            }
        }
    }

    // expect Told: retry attempts=5 delay=constant base=5000
    async Task<Result> Told(Message message)
    {
        var left = 5;
        var errors = new List<Exception>();
        while (left-- > 0)
        {
            try
            {
                await server.RaisePlanEventAsync(message.Plan, default);
                return result;
            }
            catch (PlanNotFoundException)
            {
                return Result.Failed;
            }
            catch (Exception e)
            {
                errors.Add(e);
            }
            await Task.Delay(TimeSpan.FromSeconds(5));
        }
        throw new AggregateException(errors);
    }
}

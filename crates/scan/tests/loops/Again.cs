class Again
{
    void CopyAll()
    {
        foreach (var file in files)
        {
            // expect by_force: retry attempts=2 delay=none
            var done = UploadFile(target, file, false);
            if (!done) // second attempt, which takes away the old one
                UploadFile(target, file, true);
        }
    }

    // It went well, and the other one follows.
    void Both(string file)
    {
        var done = UploadFile(target, file, false);
        if (done) // retry is for others
            UploadFile(target, file, true);
    }

    // The handler raises in any case.
    async Task CloseAsync(CancellationToken token)
    {
        try
        {
            await StopAsync(token);
            await SendCloseAsync();
        }
        catch (Exception e)
        {
            // once again
            await SendCloseAsync();
            throw;
        }
    }
}

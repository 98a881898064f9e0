class Due
{
    // expect Later: retry attempts=11 delay=constant base=60000
    void Ended(Timer timer, Status status)
    {
        if (status != Status.Completed && timer.RetryCount < 10)
        {
            const int Seconds = 60;
            timer.Status = Status.New;
            timer.StartDate = DateTime.UtcNow.AddSeconds(Seconds);
            timer.RetryCount++;
            timers.AddOrUpdate(timer);
        }
        else
        {
            log.Error("recording failed");
        }
    }

    // What people try is no retry.
    async Task Refused(User user)
    {
        user.InvalidLoginAttemptCount++;
        if (user.InvalidLoginAttemptCount < user.LoginAttemptsBeforeLockout)
        {
            user.Status = Status.Pending;
            await queue.Add(user);
        }
        else
        {
            log.Error("login failed");
        }
    }
}

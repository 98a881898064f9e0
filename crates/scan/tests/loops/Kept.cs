class Kept
{
    // What is kept the second time is something else: that it was taken back.
    async Task<User> Invite(User user)
    {
        try
        {
            work.Users.Update(user);
            await work.CommitAsync();
        }
        catch (Exception e)
        {
            log.Error(e, "could not invite, deleting the user for retry");
            work.Users.Delete(user);
            await work.CommitAsync();
        }
        return user;
    }

    // expect again: retry attempts=2 delay=none
    async Task Store(User user)
    {
        work.Users.Update(user);
        try
        {
            await work.CommitAsync();
        }
        catch (TimeoutException e)
        {
            // Retry once.
            await work.CommitAsync();
        }
    }
}

// expect ended-by-itself: retry attempts=infinite delay=constant base=1000
function connectUntilItWorks(client: Client) {
  const timer = setInterval(async () => {
    try {
      await client.connect();
      clearInterval(timer);
    } catch (error) {
      log.warn("not connected", error);
    }
  }, 1000);
}

// It only looks whether something is done.
function watchJob(client: Client, id: string) {
  const timer = setInterval(async () => {
    try {
      const job = await client.fetchJob(id);
      if (job.done) clearInterval(timer);
    } catch (error) {
      log.warn("cannot tell", error);
    }
  }, 1000);
}

// It never ends, and a failure is forgotten.
function reportAlways(client: Client) {
  setInterval(async () => {
    try {
      await client.sendReport();
    } catch (error) {
      log.warn("not sent, will try again", error);
    }
  }, 1000);
}

// The first failure ends it.
function connectOnce(client: Client) {
  const timer = setInterval(async () => {
    try {
      await client.connect();
      clearInterval(timer);
    } catch (error) {
      clearInterval(timer);
    }
  }, 1000);
}

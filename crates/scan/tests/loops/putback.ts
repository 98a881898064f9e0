// expect counted-and-reclaimed: retry attempts=dynamic delay=none
class Crawl {
  async failed(error: Error, job: Job, source: Source) {
    job.messages.push(error.message);
    if (this.mayRetry(job, error)) {
      job.retryCount++;
      const { url, retryCount } = job;
      this.log.warning(`${url} again, ${retryCount}`);
      await source.reclaim(job, { first: true });
      return;
    }
    this.give(job);
  }
}

// Counted, and something else is given back.
class Other {
  async failed(error: Error, job: Job, source: Source) {
    if (this.mayRetry(job, error)) {
      job.retryCount++;
      await source.reclaim(this.slot);
    }
  }
}

// expect a-copy-with-a-count: retry attempts=dynamic delay=none
function retryOf(job: Job, error: Error): Job | null {
  const tries = (job.tries || 0) + 1;
  if (tries > job.limit) {
    log(`failed ${error}`);
    return null;
  }
  return { ...job, tries };
}

// expect counted-or-none: retry attempts=3 delay=none
function onError(item: Item, error: Error) {
  item.retries = (item.retries || 0) + 1;
  if (item.retries >= 3) {
    drop(item);
    return;
  }
  client.send(item);
}

// Claimed from who had it before, and not done again.
async function claim(store: Store, account: Account) {
  try {
    await store.create(account);
  } catch (error) {
    await reclaim(account, store);
  }
}

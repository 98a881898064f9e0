// expect H39: retry attempts=infinite delay=exponential jitter=decorrelated cap=5000 deadline=20000
async function h39() {
  const stop = Date.now() + 20_000;
  let d = 100;
  while (true) {
    try { return await call(); }
    catch (e) {
      d = Math.min(5000, 100 + Math.random() * (d * 3 - 100));
      if (Date.now() + d > stop) throw e;
      await sleep(d);
    }
  }
}

// A function hands itself to a helper that calls it later.
class Stream {
  private later<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      setTimeout(() => call.apply(this).then(resolve), 2000);
    });
  }

  // expect R64: retry attempts=infinite delay=constant base=2000
  private async address(): Promise<string> {
    try {
      const answer = await this.api.open({});
      return answer.url;
    } catch (error) {
      let recoverable = true;
      if (error instanceof PlatformError && FATAL.includes(error.code)) {
        recoverable = false;
      } else if (error instanceof RequestError) {
        recoverable = false;
      }
      if (!this.ended && recoverable) {
        return await this.later(this.address);
      }
      throw error;
    }
  }
}

// expect computed-method: retry attempts=3 delay=constant base=500
async function computed(client: Api, method: "get" | "post", url: string) {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      return await client[method](url);
    } catch (e) {
      if (attempt === 2) throw e;
      await sleep(500);
    }
  }
}

// expect slept-between: retry attempts=2 delay=constant base=5000
async function sleptBetween(request: UploadRequest) {
  let success = await uploadMap(request, 1);
  if (!success) {
    // Wait, and retry.
    await new Promise((res) => setTimeout(res, 5000));
    success = await uploadMap(request);
  }
  return success;
}

// expect interceptor: retry attempts=4 delay=constant base=10
client.interceptors.response.use(undefined, async (error) => {
  const { config } = error;
  if (config.retryCount >= 3) return Promise.reject(error);
  config.retryCount += 1;
  await new Promise((resolve) => setTimeout(resolve, 10));
  return client(config);
});

// A channel that confirms is no person.
// expect confirmed: retry attempts=4 delay=constant base=200
async function confirmed(channel: Channel, bus: Bus, message: Message) {
  for (let attempt = 0; attempt < 4; attempt++) {
    try {
      await bus.publish(message);
      await channel.confirm();
      return;
    } catch (e) {
      if (attempt === 3) throw e;
      await sleep(200);
    }
  }
}

// expect sent-once: retry attempts=2 delay=none
client.interceptors.response.use(undefined, async (error) => {
  const original = error.config;
  if (original?._sent) return Promise.reject(error);
  original._sent = true;
  return client(original);
});

// What is set and never asked about bounds nothing.
// expect silent: retry attempts=dynamic delay=none
client.interceptors.response.use(undefined, async (error) => {
  error.config.silent = true;
  return client(error.config);
});

// expect handed-on-with-its-count: retry attempts=6 delay=dynamic
function onFailure(job: Job, error: Error) {
  if (job.attempts < 5) {
    queue.push({ ...job, attempts: job.attempts + 1 });
  } else {
    report(error);
  }
}

// expect limited-while-there-is-more: retry attempts=infinite delay=server-directed
async function limitedWhileThereIsMore(url: string) {
  let more = true;
  const all = [];
  while (more) {
    const res = await fetch(`${url}?after=${all.length}`);
    if (res.status === 429) {
      await sleep(Number(res.headers.get('retry-after')) * 1000);
      continue;
    }
    const data = await res.json();
    all.push(...data.items);
    more = data.next;
  }
  return all;
}

// expect state-in-a-record: retry attempts=infinite delay=none
async function stateInARecord(job: Job) {
  try {
    await api.run(job);
  } catch (e) {
    await db.jobs.update({ where: { id: job.id }, data: { status: 'pending' } });
  }
}

// expect given-a-number-first: retry attempts=3 delay=none
async function save(note: Note, saveID?: number, attempt = 1): Promise<void> {
  try {
    if (saveID === undefined) {
      saveID = ++lastSaveID;
    }
    await db.executeTransaction(note);
  } catch (e) {
    if (e instanceof TimeoutError && attempt < 3) {
      await save(note, saveID, attempt + 1);
      return;
    }
    throw e;
  }
}

// expect limit-of-an-outer-function: retry attempts=dynamic expression=MAX_RETRIES+1 delay=constant base=5000
const persistent = (MAX_RETRIES: number, wait: Wait) =>
  async function again(f: Call, numTry = 0) {
    try {
      return await f();
    } catch (e) {
      if (numTry < MAX_RETRIES) {
        await wait(5000);
        return again(f, numTry + 1);
      }
      throw e;
    }
  };

// expect what-failed-again: retry attempts=3 delay=constant base=1000
async function sendAll(messages: Message[]) {
  let pending = messages;
  for (let i = 0; i < 3; i++) {
    const failed: Message[] = [];
    for (const message of pending) {
      try {
        await client.send(message);
      } catch (e) {
        failed.push(message);
      }
    }
    if (failed.length === 0) break;
    pending = failed;
    await sleep(1000);
  }
}

// expect waits-after-a-first: retry attempts=4 schedule=1000,5000,30000
async function waitsAfterAFirst(send: () => Promise<void>) {
  const delays = [1000, 5000, 30000];
  let last: unknown;
  for (const ms of [0, ...delays]) {
    if (ms) await new Promise((resolve) => setTimeout(resolve, ms));
    try {
      await send();
      return;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

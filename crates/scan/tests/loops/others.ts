// N02
async function n02(id: string) {
  for (let i = 0; i < 60; i++) { if ((await getJob(id)).state === "ready") return; await sleep(1000); }
  throw new Error("timeout");
}

// N15
async function n15() {
  while (tokens < 1) { await sleep(50); refill(); }
  tokens--;
}

// N21
setInterval(async () => { try { await ping(); } catch { missed++; } }, 5000);

// expect N22: replay attempts=2 delay=none
api.interceptors.response.use(undefined, async (err) => {
  const c = err.config;
  if (err.response?.status === 401 && !c._again) { c._again = true; await refresh(); return api(c); }
  throw err;
});

// Another endpoint in each round.
async function n58(endpoints: string[], query: string) {
  for (let i = 0; i < endpoints.length; i++) {
    const endpoint = endpoints[i];
    const url = new URL(query, endpoint);
    try {
      return await client.get(url);
    } catch (e) {
      if (i === endpoints.length - 1) throw e;
    }
  }
}

// What another one counted is told, and nothing is taken again by it.
function n60(bean: Beat, last: Beat, most: number) {
  if (last.retries < most) {
    bean.retries = last.retries + 1;
    bean.status = PENDING;
  }
}

// As long as there are more pages, through a helper that retries.
async function n73(notion: Notion, query: string) {
  const pages = [];
  let cursor: string | undefined;
  let hasMore = true;
  while (hasMore) {
    const answer = await notion.fetchWithRetry(() => notion.client.search({ query, start: cursor }));
    answer.results.forEach((one) => pages.push(one));
    hasMore = answer.has_more;
    cursor = answer.next_cursor ?? undefined;
  }
  return pages;
}

// Another port in each round.
async function n78(folder: string, owner: string) {
  while (true) {
    const port = await getAvailablePort();
    const path = join(folder, String(port));
    try {
      await link(owner, path);
      return port;
    } catch (err) {
      if (err?.['code'] !== 'EEXIST') throw err;
    }
  }
}

// As long as others ask for the same, what they get is good enough.
async function n79(self: Getter, key: string, allowed: (value: Item) => Promise<boolean>) {
  let other;
  while ((other = self.pending.get(key))) {
    try {
      const { fresh, value } = await other;
      if (fresh) return value;
      if (await allowed(value)) return value;
    } catch {
      // Its own affair.
    }
  }
  return undefined;
}

// An interceptor that only tells.
api.interceptors.response.use((ok) => ok, async (error) => {
  await report(error.config);
  return Promise.reject(error);
});

// A state, asked for with a wait that is named after retries.
async function n86(service: Service, name: string) {
  let retry = 0;
  while (!serviceIsResolved(service)) {
    await backoff(retry, 2, 30);
    retry = retry + 1;
    service = await getService(name);
  }
  return service;
}

// expect made-anew: conflict attempts=infinite delay=none
async function madeAnew(api: Api, name: string, existing: Policy) {
  while (true) {
    const policy = { bindings: existing.bindings, etag: existing.etag };
    try {
      await api.setIamPolicy(name, policy);
      return;
    } catch (err: any) {
      if (err?.status === 409) {
        existing = await api.getIamPolicy(name);
        continue;
      }
      throw err;
    }
  }
}

// Each of them is made one after the other, and a failure ends it.
function inTurn(jobs: Job[]) {
  return jobs.reduce((p, job) => p.then(() => send(job)), Promise.resolve());
}

// The next page, with a pause in between, and no failure.
async function allPages(url: string) {
  let more = true;
  while (more) {
    const res = await fetch(url);
    const data = await res.json();
    more = data.next;
    await sleep(1000);
  }
}

// It is over with this one.
async function markFailed(job: Job) {
  try {
    await api.run(job);
  } catch (e) {
    await db.jobs.update({ where: { id: job.id }, data: { status: 'failed' } });
  }
}

// The state of something that takes its time; the name is only a name.
async function ensureActive(provider: Provider, name: string) {
  const callWithRetry = async () => {
    const result = await provider.request('getFunction', name);
    if (result && result.Configuration.State === 'Active') {
      return;
    }
    await wait(500);
    await callWithRetry();
  };
  await callWithRetry();
}

// Until all of them are gone.
async function untilGone(client: Client, vpc: string) {
  let retries = 5;
  let allGone = false;
  while (!allGone && retries > 0) {
    const answer = await client.send(new DescribeGateways(vpc));
    allGone = answer.gateways.every((one) => one.State === 'deleted');
    if (!allGone) {
      await wait(20000);
      retries--;
    }
  }
}

// Another name in each round.
function freshFolder(base: string) {
  for (let i = 0; i < 10; i++) {
    const name = `${Date.now()}-${crypto.randomBytes(8).toString('hex')}`;
    const folder = path.join(base, name);
    try {
      fs.mkdirSync(folder);
      return folder;
    } catch (err) {
      if (err.code !== 'EEXIST') throw err;
    }
  }
}

// One after the other is asked.
async function firstOfThem(hosts: string[]) {
  for (let i = 0; i < 10; i++) {
    const host = hosts.shift();
    if (!host) break;
    const answer = await client.request(host).catch(() => null);
    if (answer) return answer;
  }
}

// What failed is only told.
async function sendOnce(pages: Message[][]) {
  for (const page of pages) {
    const failed: Message[] = [];
    for (const message of page) {
      try {
        await client.send(message);
      } catch (e) {
        failed.push(message);
      }
    }
    if (failed.length > 0) report(failed);
  }
}

// Something else is asked for what failed.
function fromAnother(name: string) {
  return client.fetch(name).catch(() => client.fetch('default'));
}

// The limit of a request, and no wait.
async function withLimit(url: string) {
  const timer = setTimeout(stop, 1000, url, 1);
  const answer = await client.request(url);
  clearTimeout(timer);
  return answer;
}

// Whether something is there yet, in this process.
async function untilInstalled() {
  for (let i = 0; i < 3; i++) {
    await delay(500 * i);
    if (_pacInstalled()) {
      break;
    }
  }
}

// The same is done when it went well and when it failed.
function sendOnce(request: Body) {
  post("/orders", request)
    .then(() => { saveState(false); close(); })
    .catch((error) => { saveState(false); });
}

// Looked at again and again, a few times.
class Watched {
  tick() {
    this.rounds += 1;
    fetch(this.url).then((answer) => this.show(answer));
    if (this.rounds < this.most) setTimeout(() => this.tick(), 5000);
  }
}

// Whether something is there yet: the attempts are looks.
function whenThere(done: () => void, attempts = 0) {
  if (document.querySelector("#app")) {
    done();
  } else if (attempts < 20) {
    setTimeout(() => whenThere(done, attempts + 1), 50);
  }
}

// The last call counts.
class Debounced {
  call() {
    this.calls += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.run, this.wait);
  }
}

// Asked for an answer until there is one or time is up.
async function untilReply(client: Client, until: number) {
  while (Date.now() < until) {
    const reply = await processOnePoll(client);
    if (reply !== false) return reply;
    await new Promise((resolve) => setTimeout(resolve, POLL_BACKOFF_MS));
  }
  throw new TimeoutError();
}

// It asks until there is something, as it says.
export async function polled(client: Client, url: string) {
  while (true) {
    const poll = await client.fetch(url);
    if (poll.status === 200) {
      return poll.text();
    }
    await sleep(1000);
  }
}

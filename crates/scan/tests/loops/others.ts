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

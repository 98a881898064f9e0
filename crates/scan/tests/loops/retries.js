// expect H33: retry attempts=5 delay=exponential base=250 schedule=250,500,1000,2000 jitter=equal
async function h33() {
  for (let i = 0; i < 5; i++) {
    try {
      return await call();
    } catch (e) {
      if (i === 4) throw e;
      const d = Math.min(250 * 2 ** i, 2000);
      await new Promise((r) => setTimeout(r, d / 2 + Math.random() * (d / 2)));
    }
  }
}

// expect H34: retry attempts=dynamic usual=3 expression=retries delay=linear base=1000 schedule=1000,2000 jitter=none
async function getJson(url, retries = 3) {
  for (let i = 0; i < retries; i++) {
    try {
      const res = await fetch(url);
      if (res.ok) return res.json();
      if (res.status >= 500 && i < retries - 1) { await sleep(1000 * (i + 1)); continue; } // exponential backoff
      return null;
    } catch (e) {
      if (i === retries - 1) throw e;
      await sleep(1000 * (i + 1));
    }
  }
}

// expect H35: retry attempts=dynamic usual=4 expression=n+1 delay=none jitter=none
async function h35(url, n = 3) {
  try { return await fetch(url); }
  catch (e) { if (n > 0) return h35(url, n - 1); throw e; }
}

// expect H36: retry attempts=4 delay=exponential base=200 schedule=200,400,800 jitter=none
const again36 = (f, n, d) => f().catch((e) => (n ? wait(d).then(() => again36(f, n - 1, d * 2)) : Promise.reject(e)));
again36(call, 3, 200);

// expect H38: retry attempts=5 delay=constant base=500 jitter=none
function connect(tries = 0) {
  api((err, v) => {
    if (!err) return done(v);
    if (tries < 4) setTimeout(() => connect(tries + 1), 500);
    else done(err);
  });
}

// expect H37: retry attempts=3 delay=none jitter=none
async function folded() {
  return await Array(3).fill(0).reduce((p) => p.catch(() => call()), Promise.reject());
}

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

// N22
api.interceptors.response.use(undefined, async (err) => {
  const c = err.config;
  if (err.response?.status === 401 && !c._again) { c._again = true; await refresh(); return api(c); }
  throw err;
});

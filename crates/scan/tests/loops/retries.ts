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

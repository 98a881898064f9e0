// hand-rolled: a loop around a function that retries by itself.
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function fetchWithRetry(url) {
  for (let attempt = 1; attempt <= 3; attempt++) {
    const reply = await fetch(url);
    if (reply.ok) return reply;
    if (attempt === 3) throw new Error(reply.statusText);
    await sleep(5);
  }
}

async function loadOrders() {
  let retries = 0;
  while (true) {
    try {
      return await fetchWithRetry(process.env.HARNESS_URL + '/503');
    } catch (error) {
      if (++retries > 1) throw error;
      await sleep(5);
    }
  }
}

await loadOrders();

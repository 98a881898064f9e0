// js-p-retry: ten retries if nobody says another number.
import pRetry from 'p-retry';

async function load() {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
}

await pRetry(load, { minTimeout: 5, maxTimeout: 20 });

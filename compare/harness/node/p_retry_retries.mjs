// js-p-retry: retries are counted, not attempts.
import pRetry from 'p-retry';

await pRetry(
  async () => {
    const reply = await fetch(process.env.HARNESS_URL + '/503');
    if (!reply.ok) throw new Error(reply.statusText);
  },
  { retries: 3, minTimeout: 10, factor: 1 },
);

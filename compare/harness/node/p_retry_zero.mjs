// js-p-retry: off.
import pRetry from 'p-retry';

await pRetry(
  async () => {
    const reply = await fetch(process.env.HARNESS_URL + '/503');
    if (!reply.ok) throw new Error(reply.statusText);
  },
  { retries: 0 },
);

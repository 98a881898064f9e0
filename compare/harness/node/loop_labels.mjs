// hand-rolled: waits from a table.
import { setTimeout as sleep } from 'node:timers/promises';

const BACKOFF_MS = [5, 10, 20, 40];

async function load(url) {
  for (const [attempt, ms] of BACKOFF_MS.entries()) {
    try {
      const reply = await fetch(url);
      if (!reply.ok) throw new Error(reply.statusText);
      return reply;
    } catch (error) {
      console.warn(`attempt ${attempt + 1}: ${error.message}`);
      await sleep(ms);
    }
  }
  throw new Error('no answer');
}

await load(process.env.HARNESS_URL + '/503');

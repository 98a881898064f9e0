// hand-rolled: the clock ends it.
// unknowable: how many attempts fit into the time depends on how long each takes
import { setTimeout as sleep } from 'node:timers/promises';

async function load(url) {
  const start = Date.now();
  while (Date.now() - start < 1000) {
    try {
      const reply = await fetch(url);
      if (reply.ok) return reply;
    } catch (error) {
      console.error(error);
    }
    await sleep(200);
  }
  throw new Error('timed out');
}

await load(process.env.HARNESS_URL + '/503');

// hand-rolled: without an end.
import { setTimeout as sleep } from 'node:timers/promises';

async function load(url) {
  for (;;) {
    try {
      const reply = await fetch(url);
      if (!reply.ok) throw new Error(reply.statusText);
      return reply;
    } catch (error) {
      console.error('retrying', error.message);
      await sleep(10);
    }
  }
}

await load(process.env.HARNESS_URL + '/503');

// hand-rolled: do and while.
import { setTimeout as sleep } from 'node:timers/promises';

async function load(url) {
  let attempts = 0;
  let reply;
  do {
    reply = await fetch(url);
    attempts++;
    if (reply.status === 503) await sleep(10);
  } while (reply.status === 503 && attempts < 5);
  return reply;
}

await load(process.env.HARNESS_URL + '/503');

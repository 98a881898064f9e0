// hand-rolled: the environment says how often.
// unknowable: the number is set by the environment
import { setTimeout as sleep } from 'node:timers/promises';

const RETRIES = Number(process.env.LOAD_RETRIES ?? 2);

async function load(url) {
  for (let attempt = 0; attempt <= RETRIES; attempt++) {
    const reply = await fetch(url);
    if (reply.ok) return reply;
    await sleep(10);
  }
  throw new Error('no answer');
}

await load(process.env.HARNESS_URL + '/503');

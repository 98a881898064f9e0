// hand-rolled: counted from one, up to and including.
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_RETRIES = 3;

async function load(url) {
  for (let retry = 1; retry <= MAX_RETRIES; retry += 1) {
    const reply = await fetch(url);
    if (reply.ok) return reply.json();
    if (retry === MAX_RETRIES) throw new Error(`failed after ${retry} attempts`);
    await sleep(10);
  }
}

await load(process.env.HARNESS_URL + '/500');

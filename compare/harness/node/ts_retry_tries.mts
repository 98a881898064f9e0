// js-ts-retry: maxTry counts all attempts.
import { retryAsync } from 'ts-retry';

async function load(url: string): Promise<string> {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(reply.statusText);
  return reply.text();
}

await retryAsync(async () => load(process.env.HARNESS_URL + '/503'), { maxTry: 5, delay: 10 });

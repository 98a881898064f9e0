// js-exponential-backoff: numOfAttempts counts all attempts.
import { backOff, type IBackOffOptions } from 'exponential-backoff';

const options: Partial<IBackOffOptions> = { numOfAttempts: 4, startingDelay: 5, jitter: 'full' };

export async function load(url: string): Promise<Response> {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(reply.statusText);
  return reply;
}

await backOff(() => load(process.env.HARNESS_URL + '/503'), options);

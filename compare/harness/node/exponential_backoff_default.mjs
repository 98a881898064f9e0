// js-exponential-backoff: ten attempts if nobody says another number.
import { backOff } from 'exponential-backoff';

await backOff(
  async () => {
    const reply = await fetch(process.env.HARNESS_URL + '/503');
    if (!reply.ok) throw new Error(reply.statusText);
  },
  { startingDelay: 5, maxDelay: 20 },
);

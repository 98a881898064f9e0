// js-cockatiel: maxAttempts counts retries.
import { ConstantBackoff, handleAll, retry } from 'cockatiel';

const policy = retry(handleAll, { maxAttempts: 3, backoff: new ConstantBackoff(10) });

await policy.execute(async () => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
});

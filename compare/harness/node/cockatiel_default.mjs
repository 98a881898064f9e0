// js-cockatiel: without maxAttempts there is no end.
import { ConstantBackoff, handleAll, retry } from 'cockatiel';

const policy = retry(handleAll, { backoff: new ConstantBackoff(5) });

await policy.execute(async () => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
});

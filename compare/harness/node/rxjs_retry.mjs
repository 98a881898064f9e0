// js-rxjs-retry: the count is of retries.
import { defer, lastValueFrom, retry } from 'rxjs';

const load = defer(async () => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
});

await lastValueFrom(load.pipe(retry({ count: 3, delay: 10 })));

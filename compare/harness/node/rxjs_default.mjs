// js-rxjs-retry: without a count there is no end.
import { defer, lastValueFrom } from 'rxjs';
import { retry } from 'rxjs/operators';

const load = defer(async () => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
});

await lastValueFrom(load.pipe(retry()));

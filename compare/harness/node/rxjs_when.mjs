// js-rxjs-retry: a timer between the attempts.
import { defer, lastValueFrom, retry, timer } from 'rxjs';

const source = defer(() =>
  fetch(process.env.HARNESS_URL + '/503').then((reply) => {
    if (!reply.ok) throw new Error(reply.statusText);
    return reply.text();
  }),
);

await lastValueFrom(source.pipe(retry({ count: 4, delay: (error, count) => timer(5 * count) })));

// js-make-fetch-happen: retries are counted, not attempts.
import fetch from 'make-fetch-happen';

await fetch(process.env.HARNESS_URL + '/503', {
  retry: { retries: 2, minTimeout: 10, maxTimeout: 20 },
});

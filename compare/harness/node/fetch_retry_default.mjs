// js-fetch-retry: three retries of lost connections if nobody says another number.
import fetchRetry from 'fetch-retry';

const load = fetchRetry(fetch, { retryDelay: 10 });
await load(process.env.HARNESS_URL + '/close');

// js-fetch-retry: retries are counted, not attempts.
import fetchRetry from 'fetch-retry';

const load = fetchRetry(fetch, { retries: 4, retryDelay: 10, retryOn: [503] });
await load(process.env.HARNESS_URL + '/503');

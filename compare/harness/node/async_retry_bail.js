// js-async-retry: retries are counted, and what is not worth it is not retried.
const retry = require('async-retry');

const options = { retries: 4, minTimeout: 10, maxTimeout: 20, randomize: false };

retry(async (bail, attempt) => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (reply.status === 404) return bail(new Error('not there'));
  if (!reply.ok) throw new Error(`attempt ${attempt}`);
}, options);

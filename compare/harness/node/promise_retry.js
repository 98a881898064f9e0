// js-promise-retry: retries are counted, not attempts.
const promiseRetry = require('promise-retry');

async function load() {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
}

promiseRetry((retry) => load().catch(retry), { retries: 2, minTimeout: 10 });

// js-node-retry: ten retries if nobody says another number.
const retry = require('retry');

const operation = retry.operation({ minTimeout: 5, maxTimeout: 20 });

operation.attempt(async () => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) operation.retry(new Error(reply.statusText));
});

// js-node-retry: an operation, which counts the retries.
const http = require('node:http');
const retry = require('retry');

const operation = retry.operation({ retries: 3, minTimeout: 10, maxTimeout: 20 });

operation.attempt(() => {
  http.get(process.env.HARNESS_URL + '/503', (reply) => {
    reply.resume();
    const error = reply.statusCode === 503 ? new Error('unavailable') : null;
    if (operation.retry(error)) return;
    process.exitCode = error ? 1 : 0;
  });
});

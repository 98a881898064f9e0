// js-async-retry: the caller says how often.
// unknowable: the number is a parameter
const retry = require('async-retry');

function load(url, { retries = 2 } = {}) {
  return retry(
    async () => {
      const reply = await fetch(url);
      if (!reply.ok) throw new Error(reply.statusText);
    },
    { retries, minTimeout: 5, maxTimeout: 10 },
  );
}

load(process.env.HARNESS_URL + '/503');

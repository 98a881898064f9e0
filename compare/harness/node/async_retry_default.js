// js-async-retry: ten retries if nobody says another number.
const retry = require('async-retry');

retry(
  async () => {
    const reply = await fetch(process.env.HARNESS_URL + '/503');
    if (!reply.ok) throw new Error(reply.statusText);
  },
  { minTimeout: 5, maxTimeout: 20 },
);

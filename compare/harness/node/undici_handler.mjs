// js-undici-retry: with the dispatcher of fetch.
import { Agent, fetch, RetryAgent } from 'undici';

const dispatcher = new RetryAgent(new Agent(), {
  maxRetries: 2,
  minTimeout: 5,
  maxTimeout: 10,
  statusCodes: [503],
});
await fetch(process.env.HARNESS_URL + '/503', { dispatcher });

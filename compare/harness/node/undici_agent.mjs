// js-undici-retry: maxRetries counts the retries.
import { Agent, request, RetryAgent } from 'undici';

const dispatcher = new RetryAgent(new Agent(), { maxRetries: 3, minTimeout: 10, maxTimeout: 20 });
await request(process.env.HARNESS_URL + '/503', { dispatcher });

// js-undici-retry: five retries if nobody says another number.
import { Agent, interceptors, request } from 'undici';

const dispatcher = new Agent().compose(interceptors.retry({ minTimeout: 5, maxTimeout: 20 }));
await request(process.env.HARNESS_URL + '/503', { dispatcher });

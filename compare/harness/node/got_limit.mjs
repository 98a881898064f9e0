// js-got: an instance with a limit, which counts retries.
import got from 'got';

const api = got.extend({
  prefixUrl: process.env.HARNESS_URL,
  retry: { limit: 3, backoffLimit: 20 },
});
await api.get('503');

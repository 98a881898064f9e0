// js-got: a POST that is retried, since somebody says so.
import got from 'got';

await got.post(process.env.HARNESS_URL + '/503/soon', {
  json: { a: 1 },
  retry: { limit: 3, methods: ['POST'] },
});

// js-superagent: a callback decides, and the number limits it.
import superagent from 'superagent';

await superagent
  .get(process.env.HARNESS_URL + '/500')
  .set('accept', 'application/json')
  .retry(3, (error, reply) => reply?.status === 500);

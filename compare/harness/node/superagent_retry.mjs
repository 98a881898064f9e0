// js-superagent: the argument counts the retries.
import superagent from 'superagent';

await superagent.get(process.env.HARNESS_URL + '/503').retry(2);

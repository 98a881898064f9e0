// no retry: superagent does not retry unless it is told to.
import superagent from 'superagent';

await superagent.get(process.env.HARNESS_URL + '/503');

// js-got: off.
import got from 'got';

await got(process.env.HARNESS_URL + '/503', { retry: { limit: 0 } });

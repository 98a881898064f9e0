// js-got: two retries of a GET if nobody says another number.
import got from 'got';

await got(process.env.HARNESS_URL + '/503');

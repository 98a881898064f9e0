// js-p-retry around js-got, which retries without being asked: their attempts multiply.
import got from 'got';
import pRetry from 'p-retry';

const load = () => got(process.env.HARNESS_URL + '/503/soon').json();
await pRetry(load, { retries: 1, minTimeout: 5 });

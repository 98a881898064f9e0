// no retry: got does not retry a POST unless it is told to.
import got from 'got';

await got.post(process.env.HARNESS_URL + '/503', { json: { a: 1 } });

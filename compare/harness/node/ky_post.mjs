// no retry: ky does not retry a POST unless it is told to.
import ky from 'ky';

await ky.post(process.env.HARNESS_URL + '/503', { json: { a: 1 } });

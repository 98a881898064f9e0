// js-ky: a number in place of the options.
import ky from 'ky';

await ky(process.env.HARNESS_URL + '/503', { retry: 1 });

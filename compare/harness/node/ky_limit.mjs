// js-ky: a limit counts retries.
import ky from 'ky';

const api = ky.create({ retry: { limit: 4, backoffLimit: 20 } });
await api.get(process.env.HARNESS_URL + '/503');

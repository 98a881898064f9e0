// js-ky: an instance that is extended.
import ky from 'ky';

const base = ky.create({ prefixUrl: process.env.HARNESS_URL, timeout: 2000 });
const patient = base.extend({ retry: { limit: 3, delay: () => 5 } });
await patient.get('503').json();

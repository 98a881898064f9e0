// js-retry-axios: an option of the request.
import axios from 'axios';
import * as rax from 'retry-axios';

rax.attach();
await axios.get(process.env.HARNESS_URL + '/503', {
  raxConfig: { retry: 4, noResponseRetries: 4, retryDelay: 10, backoffType: 'static' },
});

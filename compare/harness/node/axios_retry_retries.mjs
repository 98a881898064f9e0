// js-axios-retry: retries are counted, not attempts.
import axios from 'axios';
import axiosRetry from 'axios-retry';

axiosRetry(axios, { retries: 5, retryDelay: () => 10 });
await axios.get(process.env.HARNESS_URL + '/503');

// js-axios-retry: the number is a constant, and the condition the library's own.
import axios from 'axios';
import axiosRetry, { exponentialDelay, isNetworkOrIdempotentRequestError } from 'axios-retry';

const RETRIES = 2;
const http = axios.create({ baseURL: process.env.HARNESS_URL, timeout: 2000 });

axiosRetry(http, {
  retries: RETRIES,
  retryDelay: exponentialDelay,
  retryCondition: (error) => isNetworkOrIdempotentRequestError(error),
});
await http.get('/503');

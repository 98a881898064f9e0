// js-p-retry around js-axios-retry: their attempts multiply.
import axios from 'axios';
import axiosRetry from 'axios-retry';
import pRetry from 'p-retry';

const client = axios.create();
axiosRetry(client, { retries: 2, retryDelay: () => 5 });

await pRetry(() => client.get(process.env.HARNESS_URL + '/503'), { retries: 2, minTimeout: 5 });

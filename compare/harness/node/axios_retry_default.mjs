// js-axios-retry: three retries if nobody says another number.
import axios from 'axios';
import axiosRetry from 'axios-retry';

const client = axios.create();
axiosRetry(client);
await client.get(process.env.HARNESS_URL + '/503');

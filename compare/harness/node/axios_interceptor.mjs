// hand-rolled: an interceptor sends the request again.
import axios from 'axios';

const client = axios.create();

client.interceptors.response.use(undefined, async (error) => {
  const { config } = error;
  config.retryCount = config.retryCount ?? 0;
  if (config.retryCount >= 3) return Promise.reject(error);
  config.retryCount += 1;
  await new Promise((resolve) => setTimeout(resolve, 10));
  return client(config);
});
await client.get(process.env.HARNESS_URL + '/503');

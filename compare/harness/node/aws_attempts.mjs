// js-aws-sdk-v3: maxAttempts counts all attempts.
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';

const queue = new SQSClient({
  region: 'eu-west-1',
  endpoint: process.env.HARNESS_URL + '/503',
  maxAttempts: 5,
});
await queue.send(new ListQueuesCommand({}));

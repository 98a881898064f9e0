// js-aws-sdk-v3: a strategy is handed over.
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { ConfiguredRetryStrategy } from '@smithy/core/retry';

const queue = new SQSClient({
  region: 'eu-west-1',
  endpoint: process.env.HARNESS_URL + '/503',
  retryStrategy: new ConfiguredRetryStrategy(4, (attempt) => 5 * attempt),
});
await queue.send(new ListQueuesCommand({}));

// js-aws-sdk-v3: three attempts if nobody says another number.
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';

const queue = new SQSClient({ region: 'eu-west-1', endpoint: process.env.HARNESS_URL + '/503' });
await queue.send(new ListQueuesCommand({}));

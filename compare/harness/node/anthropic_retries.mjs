// js-openai: maxRetries counts the retries.
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  apiKey: 'none',
  baseURL: process.env.HARNESS_URL + '/503/soon',
  maxRetries: 4,
});
await client.models.list();

// js-openai: off.
import OpenAI from 'openai';

const options = { apiKey: 'none', baseURL: process.env.HARNESS_URL + '/503', maxRetries: 0 };
await new OpenAI(options).models.list();

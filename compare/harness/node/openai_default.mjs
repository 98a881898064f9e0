// js-openai: two retries if nobody says another number.
import OpenAI from 'openai';

const client = new OpenAI({ apiKey: 'none', baseURL: process.env.HARNESS_URL + '/503/soon' });
await client.models.list();

// js-octokit-plugin-retry: three retries if nobody says another number.
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';

const MyOctokit = Octokit.plugin(retry);
const octokit = new MyOctokit({ baseUrl: process.env.HARNESS_URL, retry: { retryAfterBaseValue: 5 } });
await octokit.request('GET /503');

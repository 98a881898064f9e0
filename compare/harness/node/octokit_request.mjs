// js-octokit-plugin-retry: an option of one request.
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';

const MyOctokit = Octokit.plugin(retry);
const octokit = new MyOctokit({ baseUrl: process.env.HARNESS_URL });
await octokit.request('GET /503', { request: { retries: 1, retryAfter: 0.01 } });

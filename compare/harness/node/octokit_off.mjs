// js-octokit-plugin-retry: off.
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';

const MyOctokit = Octokit.plugin(retry);
const octokit = new MyOctokit({ baseUrl: process.env.HARNESS_URL, retry: { enabled: false } });
await octokit.request('GET /503');

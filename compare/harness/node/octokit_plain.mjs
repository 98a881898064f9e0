// no retry: without the plugin nothing is retried.
import { Octokit } from '@octokit/core';

await new Octokit({ baseUrl: process.env.HARNESS_URL }).request('GET /503');

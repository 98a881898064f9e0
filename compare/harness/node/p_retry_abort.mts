// js-p-retry: options that are built elsewhere.
import pRetry, { AbortError, type Options } from 'p-retry';

const OPTIONS: Options = { retries: 4, factor: 1, minTimeout: 5 };

async function load(url: string): Promise<string> {
  const reply = await fetch(url);
  if (reply.status === 404) throw new AbortError('not there');
  if (!reply.ok) throw new Error(reply.statusText);
  return reply.text();
}

await pRetry(() => load(`${process.env.HARNESS_URL}/503`), {
  ...OPTIONS,
  onFailedAttempt: ({ attemptNumber }) => console.error(`attempt ${attemptNumber} failed`),
});

// hand-rolled: a helper that is given the operation.
// unknowable: the number is a parameter
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function withRetry<T>(operation: () => Promise<T>, maxAttempts = 3, baseMs = 10): Promise<T> {
  let lastError: unknown;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    try {
      return await operation();
    } catch (error) {
      lastError = error;
      if (attempt < maxAttempts) {
        await sleep(baseMs * 2 ** (attempt - 1));
      }
    }
  }
  throw lastError;
}

await withRetry(async () => {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
  return reply.json();
});

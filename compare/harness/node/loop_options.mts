// hand-rolled: options with defaults.
// unknowable: the number is a parameter
interface Options {
  retries?: number;
  delayMs?: number;
}

async function load(url: string, { retries = 3, delayMs = 5 }: Options = {}): Promise<Response> {
  let attempt = 0;
  for (;;) {
    try {
      const reply = await fetch(url);
      if (!reply.ok) throw new Error(`status ${reply.status}`);
      return reply;
    } catch (error) {
      if (attempt++ >= retries) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

await load(process.env.HARNESS_URL + '/503');

// hand-rolled: what is left is counted down, and the first attempt is not among it.
const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

async function load(url: string): Promise<Response> {
  let retriesLeft = 3;
  while (true) {
    try {
      const reply = await fetch(url);
      if (reply.status >= 500) throw new Error(`status ${reply.status}`);
      return reply;
    } catch (error) {
      if (retriesLeft === 0) throw error;
      retriesLeft--;
      await wait(10);
    }
  }
}

await load(process.env.HARNESS_URL + '/503');

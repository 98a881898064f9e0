// hand-rolled: a class with a number of its own.
class Client {
  private readonly maxRetries = 2;

  constructor(private readonly base: string) {}

  async load(path: string): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const reply = await fetch(this.base + path);
      if (reply.status < 500 || attempt >= this.maxRetries) {
        return reply;
      }
      await new Promise((resolve) => setTimeout(resolve, 10 * (attempt + 1)));
    }
  }
}

await new Client(process.env.HARNESS_URL ?? '').load('/503');

// expect W21: retry attempts=3 delay=constant base=400 jitter=none
async function w21(client: Client) {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      return await client.fetch('/a');
    } catch (error) {
      await setTimeoutAsync(400);
    }
  }
  throw new Error('gone');
}

// expect W22: retry attempts=3 delay=linear base=600 jitter=none
class Loader {
  tries = 0;
  async load(client: Client): Promise<Answer> {
    const limit = setTimeout(() => process.exit(1), 20000);
    try {
      return await client.fetch('/b');
    } catch (error) {
      clearTimeout(limit);
      if (this.tries >= 2) throw error;
      this.tries++;
      await sleep(600 * this.tries);
      return this.load(client);
    }
  }
}

// expect W23: retry attempts=dynamic usual=5 delay=exponential base=300 jitter=none
class Sender {
  private retryDelay: number;
  private attempts: number;
  constructor(options: Options) {
    this.retryDelay = options.retryDelay ?? 300;
    this.attempts = options.attempts ?? 5;
  }
  async send(client: Client) {
    for (let attempt = 0; attempt < this.attempts; attempt++) {
      try {
        return await client.post('/c');
      } catch (error) {
        if (attempt === this.attempts - 1) throw error;
        await sleep(this.retryDelay * 2 ** attempt);
      }
    }
  }
}

// expect entries: retry attempts=4 delay=exponential base=50
async function send(url: URL, init: Init, schedule = [50, 100, 200]) {
  let response = await fetch(url, init);
  for (const [n, wait] of schedule.entries()) {
    if (response.status < 500) break;
    await sleep(wait);
    init.headers["n"] = n.toString();
    response = await fetch(url, init);
  }
  return response;
}

class Pings {
  // Which attempt it is makes it no other one.
  // expect told: retry attempts=2 delay=constant base=3000
  async ping(device: Device) {
    const attempts = device.known ? 2 : 1;
    for (let i = 1; i <= attempts; i++) {
      try {
        await device.link.ping(!device.known || i !== 2);
        break;
      } catch (error) {
        if (i !== attempts) {
          await sleep(3000);
        }
      }
    }
  }

  // Each of these is another one.
  async each(devices: Device[]) {
    for (let i = 0; i < 3; i++) {
      try {
        await this.link.ping(devices[i]);
      } catch (error) {
        await sleep(3000);
      }
    }
  }
}

const requestWithRetry = async <T>(request: () => Promise<T>): Promise<T> => {
  try {
    // expect named: retry attempts=2 delay=constant base=5000
    const result = await request();

    return result;
  } catch {
    await sleep(5000);
    return await request();
  }
};

let tries = 0;
const tasks = {
  // expect of-an-object: retry attempts=11 delay=constant base=3000
  async connect() {
    try {
      await db.query("SELECT 1");
    } catch (error) {
      if (tries < 10) {
        log.warn(`again in 3 seconds [${++tries} of 10]`);
        await new Promise((resolve) => setTimeout(resolve, 3000));
        await tasks.connect();
      } else {
        throw error;
      }
    }
  },
};

// What is taken apart has defaults of its own.
// expect taken-apart: retry attempts=dynamic delay=exponential expression=maxRetries+1
export async function takenApart(options: Options) {
  for (let counter = 1; ; counter++) {
    try {
      return await agent.send(options);
    } catch (cause) {
      const waitTime = getRetryWaitTime(cause, options, counter);
      if (waitTime == null) return cause;
      await sleep(waitTime);
    }
  }
}

function getRetryWaitTime(failure: Failure, options: Options, counter: number) {
  const { maxRetries = 0, minTimeout = 500, maxTimeout = 30_000, factor = 2 } = options;
  if (counter > maxRetries || !failure.shouldRetry()) {
    return undefined;
  }
  return Math.min(maxTimeout, minTimeout * factor ** (counter - 1));
}

// Where the answer says that something else has to be asked, it is asked.
async function redirected(url: string) {
  for (let hop = 0; hop <= 20; hop++) {
    const response = await client.fetch(url, { redirect: "manual" });
    if (response.status < 300 || response.status >= 400) {
      return response;
    }
    const location = response.headers.get("location");
    url = new URL(location, url).href;
  }
}

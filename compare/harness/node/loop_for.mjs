// hand-rolled: a counted loop.
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function load(url) {
  let last;
  for (let attempt = 0; attempt < 4; attempt++) {
    try {
      const reply = await fetch(url);
      if (!reply.ok) throw new Error(reply.statusText);
      return await reply.json();
    } catch (error) {
      last = error;
      await sleep(10 * 2 ** attempt);
    }
  }
  throw last;
}

await load(process.env.HARNESS_URL + '/503');

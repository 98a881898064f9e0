// hand-rolled: a function that calls itself, up to a constant.
const MAX_ATTEMPTS = 3;

async function load(url: string, attempt = 1): Promise<Response> {
  const reply = await fetch(url);
  if (reply.ok) {
    return reply;
  }
  if (attempt >= MAX_ATTEMPTS) {
    throw new Error(`giving up after ${attempt} attempts`);
  }
  await new Promise((resolve) => setTimeout(resolve, 10 * attempt));
  return load(url, attempt + 1);
}

await load(process.env.HARNESS_URL + '/503');

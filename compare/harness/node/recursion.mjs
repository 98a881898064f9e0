// hand-rolled: a function that calls itself.
// unknowable: the number is a parameter
async function load(url, retries = 3) {
  try {
    const reply = await fetch(url);
    if (!reply.ok) throw new Error(reply.statusText);
    return reply;
  } catch (error) {
    if (retries <= 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 10));
    return load(url, retries - 1);
  }
}

await load(process.env.HARNESS_URL + '/503');

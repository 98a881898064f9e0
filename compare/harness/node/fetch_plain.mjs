// no retry: fetch does not retry.
const reply = await fetch(process.env.HARNESS_URL + '/503');
if (!reply.ok) throw new Error(reply.statusText);

// hand-rolled: once more in the handler.
async function request() {
  const reply = await fetch(process.env.HARNESS_URL + '/503');
  if (!reply.ok) throw new Error(reply.statusText);
  return reply;
}

try {
  await request();
} catch (error) {
  console.warn('first try failed, retrying once', error.message);
  await request();
}

// no retry: different pages, and the first failure ends it.
for (let page = 1; page <= 5; page++) {
  const reply = await fetch(`${process.env.HARNESS_URL}/503?page=${page}`);
  if (!reply.ok) throw new Error(reply.statusText);
  console.log(await reply.json());
}

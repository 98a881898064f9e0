// Writes down how it went, and says that nothing was repeated.


export async function sends(job: Job) {
  try {
    const result = await handler.send(message);
    await logRoute.execute(
      Details.create({
        ...Details.detailsOf(job),
        status: 'ok',
        isRetry: false,
      })
    );
  } catch (e) {
    await logRoute.execute(
      Details.create({
        ...Details.detailsOf(job),
        status: 'failed',
        isRetry: false,
      })
    );
  }
}

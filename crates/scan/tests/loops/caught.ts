// expect once-when-reset: retry attempts=2 delay=none
async function query(sql: string) {
  try {
    return await pool.query(sql);
  } catch (e) {
    if (e.code === "ECONNRESET") return await pool.query(sql);
    throw e;
  }
}

// What was begun is forgotten, whether the server was told or not.
async function signOut(id: string) {
  try {
    await auth.revokeSession(id);
    await servers.remove(id);
  } catch (e) {
    log.warn(e);
    await servers.remove(id);
  }
}

// expect ended-with-a-code: retry attempts=4 delay=constant base=500
async function endedWithACode(command) {
  for (let n = 0; n < 4; n++) {
    const exitCode = await start(command);
    if (exitCode === 0) return;
    await sleep(500);
  }
}

// expect its-code-is-nothing: retry attempts=3 delay=none
async function itsCodeIsNothing(command) {
  let tries = 3;
  while (tries > 0) {
    const [text, rc] = await start(command);
    if (!rc) return text;
    tries -= 1;
  }
}

// expect not-ready-a-few-times: retry attempts=11 delay=none
function readAtOnce(fd, buffer) {
  let tries = 0;
  while (true) {
    try {
      return fs.readSync(fd, buffer);
    } catch (e) {
      if (e.code === 'EAGAIN' && tries < 10) {
        tries++;
        continue;
      }
      throw e;
    }
  }
}

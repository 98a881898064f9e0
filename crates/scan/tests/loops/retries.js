// expect H33: retry attempts=5 delay=exponential base=250 schedule=250,500,1000,2000 jitter=equal
async function h33() {
  for (let i = 0; i < 5; i++) {
    try {
      return await call();
    } catch (e) {
      if (i === 4) throw e;
      const d = Math.min(250 * 2 ** i, 2000);
      await new Promise((r) => setTimeout(r, d / 2 + Math.random() * (d / 2)));
    }
  }
}

// expect H34: retry attempts=dynamic usual=3 expression=retries delay=linear base=1000 schedule=1000,2000 jitter=none
async function getJson(url, retries = 3) {
  for (let i = 0; i < retries; i++) {
    try {
      const res = await fetch(url);
      if (res.ok) return res.json();
      if (res.status >= 500 && i < retries - 1) { await sleep(1000 * (i + 1)); continue; } // exponential backoff
      return null;
    } catch (e) {
      if (i === retries - 1) throw e;
      await sleep(1000 * (i + 1));
    }
  }
}

// expect H35: retry attempts=dynamic usual=4 expression=n+1 delay=none jitter=none
async function h35(url, n = 3) {
  try { return await fetch(url); }
  catch (e) { if (n > 0) return h35(url, n - 1); throw e; }
}

// expect H36: retry attempts=4 delay=exponential base=200 schedule=200,400,800 jitter=none
const again36 = (f, n, d) => f().catch((e) => (n ? wait(d).then(() => again36(f, n - 1, d * 2)) : Promise.reject(e)));
again36(call, 3, 200);

// expect H38: retry attempts=5 delay=constant base=500 jitter=none
function connect(tries = 0) {
  api((err, v) => {
    if (!err) return done(v);
    if (tries < 4) setTimeout(() => connect(tries + 1), 500);
    else done(err);
  });
}

// expect H37: retry attempts=3 delay=none jitter=none
async function folded() {
  return await Array(3).fill(0).reduce((p) => p.catch(() => call()), Promise.reject());
}

// expect typed-for-flow: retry attempts=6 delay=none
function commitAll(section: any): Promise<void> {
  const commit = (retries) => {
    return section.commitAll().catch((error) => {
      if (error && error.hasLabel('Transient') && retries > 0) {
        return commit(retries - 1);
      }
      throw error;
    });
  };
  return commit(5);
}

// expect bound-to-this: retry attempts=5 delay=exponential
class Downloads {
  download(request) {
    return new Promise((resolve, reject) => {
      this.client.request(request.url).then(resolve, function (e) {
        if (++this.failures < 5) {
          this.pause *= 2;
          wait(this.pause).then(function () {
            resolve(this.download(request));
          }.bind(this));
          return;
        }
        reject(e);
      }.bind(this));
    });
  }

  constructor() {
    this.failures = 0;
    this.pause = 500;
  }
}

// expect handed-to-a-timer: retry attempts=4 delay=constant base=2000
function poke(url, n) {
  client.request(url, (err) => {
    if (err && n < 3) setTimeout(poke, 2000, url, n + 1);
  });
}
poke('http://a', 0);

// expect once-more-in-catch: retry attempts=2 delay=none
function loadPart(name) {
  return client.fetch(name).catch(() => client.fetch(name));
}

// expect once-more-later: retry attempts=2 delay=constant base=30000
async function dropLock(api, id) {
  try {
    await api.deleteLock(id);
  } catch (e) {
    // try again in half a minute
    setTimeout(async () => {
      await api.deleteLock(id);
    }, 30000);
  }
}

// expect timers-of-promises: retry attempts=4 delay=constant base=10000
async function removeGroup(client, group) {
  let retries = 4;
  while (retries > 0) {
    try {
      if (group.ingress.length > 0) {
        await client.send(new RevokeIngress(group.id));
      }
      await client.send(new RemoveGroup(group.id));
      break;
    } catch (error) {
      if (retries > 1) {
        const pause = 10000;
        await setTimeout(pause);
        retries--;
      } else {
        break;
      }
    }
  }
}

// expect asks-the-server: retry attempts=infinite delay=server-directed
async function verifyUrl(url) {
  const response = await request({ url }).catch((response) => response);
  const retry = response.headers?.['retry-after'];
  if (retry) {
    await new Promise((resolve) => setTimeout(resolve, retry * 1000));
    return verifyUrl(url);
  }
  return response.status === 200;
}

// expect waits-on-shared-memory: retry attempts=infinite delay=linear
function moveFile(from, to) {
  const started = Date.now();
  let backoff = 0;
  for (;;) {
    try {
      fs.renameSync(from, to);
      return;
    } catch (err) {
      if (Date.now() - started >= 60000) throw err;
      if (backoff > 0) Atomics.wait(shared, 0, 0, backoff);
      backoff = Math.min(backoff + 10, 100);
    }
  }
}

// expect status-of-no-answer: retry attempts=4 delay=none
async function uploadPart(part) {
  let failures = 0;
  while (true) {
    try {
      return await http.request(part);
    } catch (e) {
      if (e.status != 0 || ++failures > 3) throw e;
    }
  }
}

// expect again-and-return: retry attempts=3 delay=none
async function saveNote(note, attempt = 1) {
  if (note.disabled) return;
  if (note.readOnly) return;
  if (note.html === undefined) return;
  if (note.state === null) return;
  if (note.author === null) return;
  if (note.parent === null) return;
  try {
    await db.executeTransaction(note);
  } catch (e) {
    if (e instanceof TimeoutError && attempt < 3) {
      await saveNote(note, attempt + 1);
      return;
    }
    throw e;
  }
}

// expect sent-again-by-its-timeout: retry attempts=dynamic delay=none
class Probe {
  request(packet, callback) {
    let attempts = 0;
    const sendRequest = () => {
      attempts++;
      this.socket.send(packet, (err) => {
        if (err) {
          return callback(err);
        }
        setTimeout(() => {
          if (attempts < this.retries + 1) {
            sendRequest();
          } else {
            callback(new Error("no answer"));
          }
        }, this.timeout);
      });
    };
    sendRequest();
  }
}

// expect a-helper-that-counts: retry attempts=dynamic delay=exponential
class RetryContext {
  retry(onRetry) {
    if (this.retries >= this.most) {
      return false;
    }
    this.retries++;
    this.wait = Math.min(this.first * 2 ** this.retries, this.longest);
    this.timer = setTimeout(onRetry, this.wait);
    return true;
  }
}

// expect when-it-fails: retry attempts=3 delay=linear
function load(url, onDone, attempt = 1) {
  const xhr = new XMLHttpRequest();
  xhr.onload = () => onDone(xhr.response);
  xhr.onerror = () => {
    if (attempt < 3) setTimeout(() => load(url, onDone, attempt + 1), 500 * attempt);
  };
  xhr.open("GET", url);
  xhr.send();
}

// expect one-of-the-codes: retry
async function oneOfTheCodes(client, info, most) {
  let numTries = 0;
  let response;
  do {
    response = await client.request(info);
    if (!response.message.statusCode || !HttpRetryCodes.includes(response.message.statusCode)) {
      return response;
    }
    numTries += 1;
    if (numTries < most) {
      await exponentialBackoff(numTries);
    }
  } while (numTries < most);
  return response;
}

// expect counted-in-its-object: retry attempts=dynamic delay=dynamic
Mode.prototype = {
  _upload: async function (request, item) {
    try {
      await this.client.request("POST", item);
    } catch (e) {
      if (this._failures >= this._maxFailures) {
        throw e;
      } else {
        this._failures++;
        await pause(this._wait * 1000);
        return this._upload(request, item);
      }
    }
  },
};

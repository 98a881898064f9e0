// hand-rolled: a chain of promises.
// unknowable: the number is a parameter
function load(url, retriesLeft = 2) {
  return fetch(url)
    .then((reply) => {
      if (!reply.ok) throw new Error(reply.statusText);
      return reply;
    })
    .catch((error) => {
      if (retriesLeft === 0) throw error;
      return new Promise((resolve) => setTimeout(resolve, 10)).then(() => load(url, retriesLeft - 1));
    });
}

load(process.env.HARNESS_URL + '/503');

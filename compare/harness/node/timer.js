// hand-rolled: a timer starts the function again.
const http = require('node:http');

let attempts = 0;

function connect() {
  attempts += 1;
  http.get(process.env.HARNESS_URL + '/503', (reply) => {
    reply.resume();
    if (reply.statusCode === 200) return;
    if (attempts < 4) setTimeout(connect, 10);
  });
}

connect();

"""A page for a browser: it asks for more by itself, posts a form and echoes over a WebSocket, and
writes into its title what came of it. Prints its port; ends with its input."""

import base64
import hashlib
import http.server
import struct
import sys
import threading

PAGE = b"""<!doctype html><title>waiting</title><script>
(async () => {
  const said = [];
  try {
    const many = await Promise.all([...Array(20).keys()].map(n => fetch('/data?' + n).then(r => r.text())));
    said.push('fetched ' + many.filter(t => t === 'data').length);
    const posted = await fetch('/echo', {method: 'POST', body: 'x'.repeat(200000)});
    said.push('posted ' + (await posted.text()).length);
    said.push(await new Promise((done, fail) => {
      const socket = new WebSocket('ws://' + location.host + '/socket');
      socket.onopen = () => socket.send('hello');
      socket.onmessage = message => { socket.close(); done('socket ' + message.data); };
      socket.onerror = () => fail('socket failed');
    }));
  } catch (error) { said.push('failed: ' + error); }
  document.title = said.join(', ');
  document.body.textContent = said.join(', ');
})();
</script><body></body>"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="text/plain"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        self.answer(self.rfile.read(length))

    def do_GET(self):
        if self.headers.get("upgrade", "").lower() == "websocket":
            return self.socket()
        if self.path.startswith("/data"):
            return self.answer(b"data")
        return self.answer(PAGE, "text/html")

    def socket(self):
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        self.send_header("upgrade", "websocket")
        self.send_header("connection", "Upgrade")
        self.send_header("sec-websocket-accept", accept)
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return
            length = head[1] & 127
            if length == 126:
                (length,) = struct.unpack(">H", self.rfile.read(2))
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[n % 4] for n, b in enumerate(self.rfile.read(length)))
            self.wfile.write(bytes([0x81, len(data)]) + data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()

//! A client and a server of HTTP/1.1 that do no more than is needed.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};

const REQUESTS: [&[u8]; 2] = [
    b"GET /search HTTP/1.1\r\nhost: callee\r\nx-damper-class: high\r\naccept: */*\r\n\r\n",
    b"GET /search HTTP/1.1\r\nhost: callee\r\nx-damper-class: low\r\naccept: */*\r\n\r\n",
];
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok";

/// A server that answers everything at once.
pub(super) struct Server {
    pub(super) port: u16,
}

impl Server {
    /// It ends with this program.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(stream));
            }
        });
        Ok(Self { port })
    }
}

fn serve(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut buffer = [0; 8192];
    let mut filled = 0;
    while let Ok(n) = stream.read(&mut buffer[filled..]) {
        filled += n;
        if n == 0 || filled == buffer.len() {
            return;
        }
        // Requests have no body, and come one at a time.
        if buffer[..filled].ends_with(b"\r\n\r\n") {
            filled = 0;
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
}

/// A load of requests one after another on each connection.
pub(super) struct Load {
    pub(super) port: u16,
    pub(super) connections: u16,
    pub(super) time: Duration,
}

/// What came of it.
pub(super) struct Done {
    pub(super) requests: u64,
    pub(super) per_second: f64,
}

impl Load {
    pub(super) fn run(&self) -> Result<Done> {
        let start = Instant::now();
        let end = start + self.time;
        let threads: Vec<_> = (0..self.connections)
            .map(|_| {
                let port = self.port;
                thread::spawn(move || client(port, end))
            })
            .collect();
        let mut requests = 0;
        for thread in threads {
            requests += thread.join().map_err(|_| anyhow!("a client has failed"))??;
        }
        ensure!(requests > 0, "no request was answered");
        Ok(Done { requests, per_second: requests as f64 / start.elapsed().as_secs_f64() })
    }
}

fn client(port: u16, end: Instant) -> Result<u64> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("Envoy does not listen")?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut buffer = [0; 8192];
    let mut done = 0;
    while Instant::now() < end {
        // Both classes by turns.
        stream.write_all(REQUESTS[(done % 2) as usize])?;
        let mut filled = 0;
        loop {
            let n = stream.read(&mut buffer[filled..])?;
            filled += n;
            ensure!(n > 0 && filled < buffer.len(), "an answer that is none");
            if buffer[..filled].ends_with(b"\r\n\r\nok") {
                break;
            }
        }
        ensure!(
            buffer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&buffer[..filled])
        );
        done += 1;
    }
    Ok(done)
}

/// The port of the only listener, as the admin port at `address` tells it.
pub(super) fn listener(address: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET /listeners HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let line = text.lines().find(|line| line.starts_with("in::"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

//! A server on the loopback interface that fails every request and counts them.
//!
//! The path says how: `/503` answers with this status, `/503/soon` also says when to come again,
//! `/close` hangs up instead. Who does not speak HTTP (TLS, Redis) is hung up on at the first
//! byte, and each connection counts once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The longest head and body of a request that are read, in bytes.
const LONGEST: u64 = 1 << 20;
/// How long a connection may say nothing.
const SILENCE: Duration = Duration::from_secs(60);

/// A server that runs until it is dropped.
pub(super) struct Server {
    port: u16,
    counted: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl Server {
    /// Starts one on a port of its own.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port to listen")?;
        let port = listener.local_addr()?.port();
        let counted = Arc::new(AtomicU64::new(0));
        let stopped = Arc::new(AtomicBool::new(false));
        let (count, stop) = (Arc::clone(&counted), Arc::clone(&stopped));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let count = Arc::clone(&count);
                // A connection that breaks is the end of it.
                thread::spawn(move || drop(serve(&stream, &count)));
            }
        });
        Ok(Self { port, counted, stopped })
    }

    /// The address as a URL of this scheme, without a slash at its end.
    pub(super) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// How often it was asked.
    pub(super) fn counted(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections; if that fails, there is nothing to wake.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    status: Option<u16>,
    soon: bool,
    /// Whether the client closes the connection itself after the answer.
    last: bool,
}

fn serve(stream: &TcpStream, counted: &AtomicU64) -> std::io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(first) = reader.fill_buf()?.first().copied() {
        if !first.is_ascii_uppercase() {
            counted.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let wanted = read(&mut reader, stream)?;
        counted.fetch_add(1, Ordering::Relaxed);
        let Some(status) = wanted.status else { return Ok(()) };
        let mut writer = stream;
        writer.write_all(answer(status, wanted.soon).as_bytes())?;
        if wanted.last {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads one request to its end.
fn read(reader: &mut BufReader<&TcpStream>, mut writer: &TcpStream) -> std::io::Result<Wanted> {
    let mut wanted = Wanted { status: Some(503), soon: false, last: false };
    let (mut length, mut chunked) = (0_u64, false);
    let mut first = true;
    let mut head = reader.by_ref().take(LONGEST);
    loop {
        let mut line = String::new();
        head.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if first {
            (wanted.status, wanted.soon) = path(line.split(' ').nth(1).unwrap_or_default());
            first = false;
        }
        match line.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap_or_default(),
            Some(("transfer-encoding", value)) => chunked = value.contains("chunked"),
            Some(("connection", value)) => wanted.last = value.contains("close"),
            Some(("expect", _)) => writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let mut body = reader.by_ref().take(LONGEST);
    if chunked {
        let mut line = String::new();
        while line.trim_end() != "0" && !(line.is_empty() && body.limit() < LONGEST) {
            line.clear();
            body.read_line(&mut line)?;
        }
        // The empty line after the last chunk.
        body.read_line(&mut line)?;
    } else {
        std::io::copy(&mut body.take(length), &mut std::io::sink())?;
    }
    Ok(wanted)
}

/// The status that a path asks for, and whether the answer says when to come again.
fn path(path: &str) -> (Option<u16>, bool) {
    let mut parts = path.split(['/', '?']);
    let status = parts.find_map(|part| match part {
        "close" => Some(None),
        _ => part.parse().ok().filter(|status| (400..600).contains(status)).map(Some),
    });
    (status.unwrap_or(Some(503)), parts.any(|part| part == "soon"))
}

fn answer(status: u16, soon: bool) -> String {
    let body = r#"{"error":{"type":"unavailable","message":"this server always fails"}}"#;
    let again = if soon { "retry-after: 0.01\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status} Failed\r\n{again}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes back to some bytes, sent over one connection.
    fn talk(server: &Server, sent: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reply = String::new();
        // A reset is a hang-up, too.
        let _ = stream.read_to_string(&mut reply);
        reply
    }

    #[test]
    fn every_request_of_a_connection_counts_and_fails() {
        let server = Server::start().unwrap();
        let get = "GET /503 HTTP/1.1\r\nhost: a\r\n\r\n";
        let post = "POST /v1/429/soon?x=1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nGET";
        let chunked =
            "POST /500 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let reply = talk(&server, &format!("{get}{post}{chunked}{get}"));
        assert_eq!(server.counted(), 4, "{reply}");
        let statuses = reply.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3));
        assert_eq!(statuses.collect::<Vec<_>>(), ["503", "429", "500", "503"]);
        assert_eq!(reply.matches("retry-after").count(), 1);
    }

    #[test]
    fn hangs_up_where_it_is_asked_to_or_does_not_understand() {
        let server = Server::start().unwrap();
        assert_eq!(talk(&server, "GET /close HTTP/1.1\r\n\r\n"), "");
        assert_eq!(server.counted(), 1);
        assert_eq!(talk(&server, "*1\r\n$4\r\nPING\r\n"), "");
        assert_eq!(talk(&server, "\u{16}\u{3}\u{1}"), "");
        assert_eq!(server.counted(), 3);
    }

    #[test]
    fn a_client_that_wants_to_close_is_closed() {
        let server = Server::start().unwrap();
        let close = "GET /503 HTTP/1.1\r\nConnection: close\r\n\r\n";
        talk(&server, &format!("{close}{close}"));
        assert_eq!(server.counted(), 1);
    }

    #[test]
    fn the_path_says_how_to_fail() {
        assert_eq!(path("/503"), (Some(503), false));
        assert_eq!(path("/503/soon/models"), (Some(503), true));
        assert_eq!(path("/v1/close"), (None, false));
        assert_eq!(path("/"), (Some(503), false));
    }
}

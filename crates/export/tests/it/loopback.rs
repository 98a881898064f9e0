//! A server on the loopback interface, programs that end with the test, and requests.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a server ends attempts.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Status(u16),
    /// It never answers.
    Silent,
    /// It closes the connection after it has read the request.
    Broken,
}

/// A server that ends every attempt in the same way, and counts them by class.
pub(crate) struct Server {
    pub(crate) port: u16,
    counts: Arc<Mutex<HashMap<String, u32>>>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(end: End) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Mutex::new(HashMap::new()));
        let over = Arc::new(AtomicBool::new(false));
        let (all, stop) = (counts.clone(), over.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (all, Ok(stream)) = (all.clone(), stream) else { continue };
                std::thread::spawn(move || serve(stream, end, &all));
            }
        });
        Self { port, counts, over }
    }

    pub(crate) fn count(&self, class: &str) -> u32 {
        self.counts.lock().unwrap().get(class).copied().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// The head of a message; `None`: the other side has closed before its end.
fn head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut one = [0];
    while !bytes.ends_with(b"\r\n\r\n") && bytes.len() < 100_000 {
        if stream.read(&mut one).ok()? == 0 {
            return None;
        }
        bytes.push(one[0]);
    }
    String::from_utf8(bytes).ok()
}

fn serve(mut stream: TcpStream, end: End, counts: &Mutex<HashMap<String, u32>>) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let Some(head) = head(&mut stream) else { return };
    let class = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("x-damper-class: ").map(str::to_owned)
        })
        .unwrap_or_default();
    *counts.lock().unwrap().entry(class).or_default() += 1;
    match end {
        End::Status(status) => {
            let _ = write!(
                stream,
                "HTTP/1.1 {status} Asked\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
        End::Silent => {
            // Until the other side gives up.
            let _ = stream.read(&mut [0; 16]);
        }
        End::Broken => {}
    }
}

/// A program, stopped when it is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(mut command: Command, port: u16) -> Running {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let running = Running(child.unwrap());
    let tries = 600;
    let listens = (0..tries).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    assert!(listens, "it does not listen: {command:?}");
    running
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Sends one request and waits for its answer; the status, or 0.
pub(crate) fn ask(port: u16, host: &str, method: &str, class: &str) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(
        stream,
        "{method} / HTTP/1.1\r\nhost: {host}\r\nx-damper-class: {class}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let head = head(&mut stream).unwrap_or_default();
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// A folder for the files of one run.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("damper-{name}-{}-{}", std::process::id(), free_port()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) fn program(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: {variable} is not set");
    }
    found
}

/// The body of an answer; `None`: there was none.
pub(crate) fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, mut rest) = text.split_once("\r\n\r\n")?;
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return Some(rest.to_owned());
    }
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        body.push_str(after.get(..size)?);
        rest = after.get(size + 2..).unwrap_or_default();
    }
    Some(body)
}

/// The bootstrap of an Envoy, with a port for its operator.
pub(crate) fn with_admin(text: &str, port: u16) -> String {
    format!(
        "{text}admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}\n"
    )
}

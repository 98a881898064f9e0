//! Clients that write bytes, and servers that record them: no library here makes them right.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Patience with whatever should come soon.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// What came back over a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Of each reply, in their order.
    pub(crate) statuses: Vec<u16>,
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// The other side has closed.
    pub(crate) closed: bool,
}

impl Answer {
    /// What came, as far as it is text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A connection that is read with patience.
pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.set_write_timeout(Some(SOON)).unwrap();
    stream
}

/// Writes bytes, and reads until the other side closes, or has been silent for `quiet`.
pub(crate) fn exchange(port: u16, bytes: &[u8], quiet: Duration) -> Answer {
    let mut stream = connect(port);
    // Whoever refuses the beginning need not read the rest.
    let _ = stream.write_all(bytes);
    read(&mut stream, quiet)
}

/// Reads until the other side closes, or has been silent for so long.
pub(crate) fn read(stream: &mut TcpStream, quiet: Duration) -> Answer {
    stream.set_read_timeout(Some(quiet)).unwrap();
    let mut answer = Answer::default();
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part) {
            Ok(0) => {
                answer.closed = true;
                break;
            }
            Ok(n) => answer.bytes.extend_from_slice(&part[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            Err(_) => {
                answer.closed = true;
                break;
            }
        }
    }
    answer.statuses = statuses(&answer.bytes);
    answer
}

/// The statuses of replies that follow each other, by their lengths.
fn statuses(bytes: &[u8]) -> Vec<u16> {
    let mut statuses = Vec::new();
    let mut rest = bytes;
    while let Some(message) = Message::parse(rest) {
        let status: Option<u16> =
            message.first.split(' ').nth(1).and_then(|status| status.parse().ok());
        statuses.extend(status);
        rest = &rest[message.length..];
    }
    statuses
}

/// A message of HTTP/1.1 as the strictest reader takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its first line.
    pub(crate) first: String,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Bytes that it takes.
    length: usize,
}

impl Message {
    /// The first message of these bytes; `None`: it is not complete, or none.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let end = find(bytes, b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&bytes[..end - 4]).ok()?;
        let mut lines = head.split("\r\n");
        let first = lines.next()?.to_owned();
        let headers: Vec<(String, String)> = lines
            .map(|line| {
                let (name, value) = line.split_once(':')?;
                Some((name.to_ascii_lowercase(), value.trim().to_owned()))
            })
            .collect::<Option<_>>()?;
        let value = |wanted: &str| {
            headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        let informational = first.split(' ').nth(1).is_some_and(|status| status.starts_with('1'));
        let (body, length) = if value("transfer-encoding").is_some() {
            let (body, taken) = chunks(&bytes[end..])?;
            (body, end + taken)
        } else {
            let length = value("content-length").map_or(Some(0), |value| value.parse().ok())?;
            let length: usize = if informational { 0 } else { length };
            (bytes.get(end..end.checked_add(length)?)?.to_vec(), end + length)
        };
        Some(Self { first, headers, body, length })
    }

    pub(crate) fn header(&self, wanted: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// The path of a request.
    pub(crate) fn target(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }
}

fn chunks(mut bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let whole = bytes.len();
    let mut body = Vec::new();
    loop {
        let end = find(bytes, b"\r\n")?;
        let line = std::str::from_utf8(&bytes[..end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?, 16).ok()?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            // Trailers, and an empty line.
            while !bytes.starts_with(b"\r\n") {
                bytes = &bytes[find(bytes, b"\r\n")? + 2..];
            }
            return Some((body, whole - bytes.len() + 2));
        }
        body.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// What a server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Answers with these bytes.
    Answers(Vec<u8>),
    /// Answers, and closes.
    AnswersAndCloses(Vec<u8>),
    /// Waits, and answers then.
    Waits(Duration, Vec<u8>),
    /// Closes without an answer.
    Closes,
    /// Sends a reset without an answer, by closing while there is something unread.
    Resets,
    /// Reads on and never says anything.
    Silent,
}

/// A good answer.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// An answer without a body.
pub(crate) fn status(status: u16, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Asked\r\n{headers}content-length: 0\r\n\r\n").into_bytes()
}

/// A server that records what it gets.
pub(crate) struct Recorder {
    pub(crate) port: u16,
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
}

/// What it got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) requests: Vec<Message>,
    /// What came and is no request to it.
    pub(crate) left: Vec<Vec<u8>>,
    pub(crate) connections: u32,
}

impl Recorder {
    /// Starts one that does with each request what `does` says of it, and how many there were before.
    pub(crate) fn start(does: impl Fn(&Message, usize) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, over) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
        let (all, stop, does) = (seen.clone(), over.clone(), Arc::new(does));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (all, does, stop) = (all.clone(), does.clone(), stop.clone());
                all.lock().unwrap().connections += 1;
                std::thread::spawn(move || serve(stream, &all, &*does, &stop));
            }
        });
        Self { port, seen, over }
    }

    /// One that always answers well.
    pub(crate) fn good() -> Self {
        Self::start(|_, _| Does::Answers(ok("ok")))
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    /// Requests so far.
    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().requests.len()
    }

    /// What was seen since the last time.
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Seen>,
    does: &(dyn Fn(&Message, usize) -> Does + Send + Sync),
    over: &AtomicBool,
) {
    let _ = stream.set_nodelay(true);
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    let mut silent = false;
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => break,
        }
        while let Some(message) = Message::parse(&bytes) {
            bytes.drain(..message.length);
            let number = {
                let mut seen = seen.lock().unwrap();
                seen.requests.push(message.clone());
                seen.requests.len() - 1
            };
            if silent {
                continue;
            }
            match does(&message, number) {
                Does::Answers(answer) => drop(stream.write_all(&answer)),
                Does::AnswersAndCloses(answer) => {
                    drop(stream.write_all(&answer));
                    return;
                }
                Does::Waits(time, answer) => {
                    std::thread::sleep(time);
                    drop(stream.write_all(&answer));
                }
                Does::Closes => return,
                Does::Resets => {
                    reset(&stream);
                    return;
                }
                Does::Silent => silent = true,
            }
        }
    }
    if !bytes.is_empty() {
        seen.lock().unwrap().left.push(bytes);
    }
}

/// Lets the close that follows be a reset.
fn reset(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < SOON, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

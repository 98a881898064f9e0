//! The log: cheaper for a failure than the failure itself, whatever the rate of failures.
//!
//! An overload makes every request fail, and a line for each would be more work than a success
//! (Bronson et al., HotOS '21, "slow error handling"). So there is one line a second for each
//! kind, with the number of those that were left out. A failure that is left out costs two loads
//! and one addition. Lines are written by a thread of their own: nobody waits for a pipe that is
//! full.
//!
//! Nothing secret can be logged by accident: a line has fields of its own and takes no headers,
//! and of a target only the path. What strangers wrote is escaped and cut.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use damper_control::Nanos;
use damper_tower::clock;

use super::wall;

/// What a line is about. Each has a token a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// What is behind failed, or could not be reached.
    Upstream,
    /// An attempt or a call took too long.
    Timeout,
    /// A request was refused by a control.
    Refused,
    /// A request was malformed, too large or too slow.
    Malformed,
    /// A caller's connection failed.
    Connection,
    /// Something the process itself could not do: no file descriptor, no memory.
    System,
    /// TLS.
    Tls,
    /// Start, reload, drain. Never left out.
    Life,
    /// The lever was pulled. Never left out.
    Lever,
}

/// Names of the kinds, in their order.
pub const KINDS: [&str; 9] =
    ["upstream", "timeout", "refused", "malformed", "connection", "system", "tls", "life", "lever"];

impl Kind {
    const fn always(self) -> bool {
        matches!(self, Self::Life | Self::Lever)
    }
}

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `time kind hop message key=value`.
    #[default]
    Text,
    /// An object a line.
    Json,
}

/// What a line says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line<'a> {
    /// The hop, if it is about one.
    pub hop: Option<&'a str>,
    /// The class, by name.
    pub class: Option<&'a str>,
    /// Path of the request; what follows a `?` is left out.
    pub path: Option<&'a str>,
    /// What happened, in the words of this program.
    pub message: &'a str,
    /// The error, with what caused it.
    pub error: Option<&'a dyn std::error::Error>,
}

/// Characters of what a stranger can make long.
const MOST: usize = 200;
/// Lines that wait to be written.
const WAITING: usize = 256;

#[derive(Debug, Default)]
struct Bucket {
    /// The last second in which a line was written, from 1.
    second: AtomicU64,
    left_out: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    format: Format,
    buckets: [Bucket; KINDS.len()],
    lines: SyncSender<String>,
    lost: AtomicU64,
}

/// The log. Clones are the same log.
#[derive(Clone, Debug)]
pub struct Log(Arc<Shared>);

impl Log {
    /// A log whose lines go to `sink`, each in one write. It is written to until the last clone
    /// is dropped.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn to(format: Format, mut sink: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (lines, written) = sync_channel::<String>(WAITING);
        std::thread::Builder::new().name("damper-log".to_owned()).spawn(move || {
            for line in written {
                // There is nobody to tell.
                let _ = sink.write_all(line.as_bytes());
                let _ = sink.flush();
            }
        })?;
        Ok(Self(Arc::new(Shared {
            format,
            buckets: std::array::from_fn(|_| Bucket::default()),
            lines,
            lost: AtomicU64::new(0),
        })))
    }

    /// A log on standard error.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn stderr(format: Format) -> std::io::Result<Self> {
        Self::to(format, std::io::stderr())
    }

    /// Logs a line, or counts that it was left out. `line` is called only if it is written.
    #[inline]
    pub fn write<'a>(&self, kind: Kind, line: impl FnOnce() -> Line<'a>) {
        self.write_at(clock::now(), kind, line);
    }

    /// The same for who knows what time it is.
    #[inline]
    pub fn write_at<'a>(&self, now: Nanos, kind: Kind, line: impl FnOnce() -> Line<'a>) {
        let bucket = &self.0.buckets[kind as usize];
        let second = now.0 / 1_000_000_000 + 1;
        let last = bucket.second.load(Ordering::Relaxed);
        let mine = kind.always()
            || last < second
                && bucket
                    .second
                    .compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
        if mine {
            let left_out = bucket.left_out.swap(0, Ordering::Relaxed);
            self.send(kind, left_out, &line());
        } else {
            bucket.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[cold]
    fn send(&self, kind: Kind, left_out: u64, line: &Line<'_>) {
        let text = match self.0.format {
            Format::Text => text(kind, left_out, line),
            Format::Json => json(kind, left_out, line),
        };
        match self.0.lines.try_send(text) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.0.lost.fetch_add(1, Ordering::Relaxed);
                self.0.buckets[kind as usize].left_out.fetch_add(left_out + 1, Ordering::Relaxed);
            }
        }
    }

    /// Lines that were lost because nobody read them in time, for the metrics.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

/// A path without its query, cut, with nothing in it that a terminal or a parser obeys.
fn path(path: &str) -> String {
    let end = path.find(['?', '#']).unwrap_or(path.len());
    clean(&path[..end])
}

fn clean(text: &str) -> String {
    let mut out: String = text.chars().take(MOST).flat_map(char::escape_default).collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

/// An error and its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !out.contains(&cause_text) {
            let _ = write!(out, ": {cause_text}");
        }
        next = cause.source();
    }
    clean(&out)
}

fn text(kind: Kind, left_out: u64, line: &Line<'_>) -> String {
    let mut out = format!("{} {}", wall::now(), KINDS[kind as usize]);
    if let Some(hop) = line.hop {
        let _ = write!(out, " {hop:?}");
    }
    let _ = write!(out, " {}", line.message);
    for (key, value) in fields(line) {
        let _ = write!(out, " {key}=\"{value}\"");
    }
    if left_out > 0 {
        let _ = write!(out, " ({left_out} more like it were left out)");
    }
    out.push('\n');
    out
}

fn fields(line: &Line<'_>) -> impl Iterator<Item = (&'static str, String)> {
    let class = line.class.map(|class| ("class", clean(class)));
    let path = line.path.map(|target| ("path", path(target)));
    let error = line.error.map(|error| ("error", causes(error)));
    [class, path, error].into_iter().flatten()
}

fn json(kind: Kind, left_out: u64, line: &Line<'_>) -> String {
    let mut object = serde_json::Map::new();
    object.insert("at".into(), wall::now().into());
    object.insert("kind".into(), KINDS[kind as usize].into());
    if let Some(hop) = line.hop {
        object.insert("hop".into(), hop.into());
    }
    object.insert("message".into(), line.message.into());
    for (key, value) in fields(line) {
        object.insert(key.into(), value.into());
    }
    if left_out > 0 {
        object.insert("left_out".into(), left_out.into());
    }
    format!("{}\n", serde_json::Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, mpsc};

    /// Sends each line on.
    struct Sink(Mutex<mpsc::Sender<String>>);

    impl Write for Sink {
        fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
            let text = String::from_utf8(line.to_vec()).unwrap();
            let _ = self.0.lock().unwrap().send(text);
            Ok(line.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn log(format: Format) -> (Log, mpsc::Receiver<String>) {
        let (sender, lines) = mpsc::channel();
        (Log::to(format, Sink(Mutex::new(sender))).unwrap(), lines)
    }

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn a_kind_has_a_line_a_second_and_the_rest_is_counted() {
        let (log, lines) = log(Format::Json);
        let mut asked = 0;
        for i in 0..1000u64 {
            log.write_at(Nanos(i * 1_000_000), Kind::Upstream, || {
                asked += 1;
                Line { hop: Some("db"), message: "no reply", ..Line::default() }
            });
            log.write_at(Nanos(i * 1_000_000), Kind::Timeout, Line::default);
        }
        assert_eq!(asked, 1, "nothing is made of a line that is left out");
        log.write_at(at(1), Kind::Upstream, || Line { message: "no reply", ..Line::default() });
        log.write_at(at(1), Kind::Life, || Line { message: "one", ..Line::default() });
        log.write_at(at(1), Kind::Life, || Line { message: "two", ..Line::default() });
        drop(log);
        let lines: Vec<serde_json::Value> =
            lines.iter().map(|line| serde_json::from_str(&line).unwrap()).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!((&lines[0]["kind"], &lines[0]["hop"]), (&"upstream".into(), &"db".into()));
        assert!(lines[0]["left_out"].is_null());
        assert_eq!(lines[2]["left_out"], 999);
        assert_eq!((&lines[3]["message"], &lines[4]["message"]), (&"one".into(), &"two".into()));
    }

    #[test]
    fn what_strangers_wrote_cannot_forge_a_line_nor_leak_a_query() {
        for format in [Format::Text, Format::Json] {
            let (log, lines) = log(format);
            let error = std::io::Error::other("a\u{1b}[31m\nred\"");
            let long = format!("/a\r\nb/{}?token=hunter2#hunter2", "x".repeat(1000));
            log.write(Kind::Malformed, || Line {
                path: Some(&long),
                error: Some(&error),
                message: "refused",
                ..Line::default()
            });
            drop(log);
            let line = lines.recv().unwrap();
            assert!(!line.contains("hunter2") && line.len() < 1000, "{line}");
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert!(!line.contains('\u{1b}') && !line.contains('\r'), "{line}");
        }
    }

    #[test]
    fn nobody_waits_for_a_reader_that_does_not_read() {
        struct Stuck(mpsc::Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
                let _ = self.0.recv();
                Ok(line.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (go, stuck) = mpsc::channel();
        let log = Log::to(Format::Text, Stuck(stuck)).unwrap();
        for _ in 0..2 * WAITING {
            log.write(Kind::Life, || Line { message: "here", ..Line::default() });
        }
        assert!(log.lost() >= WAITING as u64 - 1, "{}", log.lost());
        drop(go);
    }
}

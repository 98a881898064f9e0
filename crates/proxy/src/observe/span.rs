//! Spans of requests whose caller records a trace, for OTLP.
//!
//! A proxy that exports is a hop of the trace: it writes a span of its own into the `traceparent`
//! that it passes on. One that does not passes it on as it is.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use damper_control::Nanos;
use damper_tower::clock;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::wall;

/// W3C Trace Context.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Spans that wait to be exported. More are dropped.
const WAITING: usize = 4096;

/// A span that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Of the trace.
    pub trace: [u8; 16],
    /// Its own.
    pub id: [u8; 8],
    /// Of the span that it is part of.
    pub parent: [u8; 8],
    /// The hop.
    pub hop: Arc<str>,
    /// The class, by name.
    pub class: Arc<str>,
    /// How it ended, as [`ENDS`](crate::meters::ENDS) has it.
    pub outcome: &'static str,
    /// When it began, since 1970.
    pub started: Duration,
    /// How long it took.
    pub took: Duration,
}

#[derive(Debug)]
struct Shared {
    on: AtomicBool,
    spans: SyncSender<Span>,
    taken: Mutex<Receiver<Span>>,
    lost: AtomicU64,
    /// Ids are numbers of this process, hashed with a secret of it.
    next: AtomicU64,
    secret: RandomState,
}

/// Spans on their way to the exporter. Clones are the same.
#[derive(Clone, Debug)]
pub struct Spans(Arc<Shared>);

impl Default for Spans {
    fn default() -> Self {
        let (spans, taken) = sync_channel(WAITING);
        Self(Arc::new(Shared {
            on: AtomicBool::new(false),
            spans,
            taken: Mutex::new(taken),
            lost: AtomicU64::new(0),
            next: AtomicU64::new(1),
            secret: RandomState::new(),
        }))
    }
}

/// A request that is part of a trace.
#[derive(Debug)]
pub struct Open {
    spans: Spans,
    trace: [u8; 16],
    id: [u8; 8],
    parent: [u8; 8],
    came: Nanos,
    started: Duration,
}

impl Spans {
    /// From now on there is an exporter.
    pub(crate) fn switch_on(&self) {
        self.0.on.store(true, Ordering::Relaxed);
    }

    /// Spans that were dropped since there were too many.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Begins a span if there is an exporter and the caller records this trace, and writes it into
    /// the `traceparent` that is passed on. Otherwise it costs a load.
    #[inline]
    pub fn begin(&self, now: Nanos, headers: &mut HeaderMap) -> Option<Open> {
        if !self.0.on.load(Ordering::Relaxed) {
            return None;
        }
        let (trace, parent, flags) = parse(headers.get(TRACEPARENT)?.as_bytes())?;
        // Only those that the caller samples: whether a trace is worth it is not a proxy's word.
        if flags & 1 == 0 {
            return None;
        }
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let id = self.0.secret.hash_one(number).max(1).to_be_bytes();
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        push_hex(&mut text, &trace);
        text.push('-');
        push_hex(&mut text, &id);
        text.push('-');
        push_hex(&mut text, &[flags]);
        headers.insert(TRACEPARENT, HeaderValue::try_from(text).ok()?);
        let (spans, started) = (self.clone(), wall::since_1970());
        Some(Open { spans, trace, id, parent, came: now, started })
    }

    /// Takes up to so many spans.
    pub(super) fn take(&self, most: usize) -> Vec<Span> {
        let taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.try_iter().take(most).collect()
    }
}

impl Open {
    /// It ended.
    pub fn end(self, now: Nanos, hop: &Arc<str>, class: &Arc<str>, outcome: &'static str) {
        let took = clock::duration(now.since(self.came));
        let Self { spans, trace, id, parent, started, .. } = self;
        let (hop, class) = (hop.clone(), class.clone());
        let span = Span { trace, id, parent, hop, class, outcome, started, took };
        if spans.0.spans.try_send(span).is_err() {
            spans.0.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Lower case hexadecimal digits, as the standard wants them.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    (text.len() == 2 * N).then_some(out)
}

/// Trace, parent and flags of a `traceparent`. A version later than 00 may say more at its end.
fn parse(text: &[u8]) -> Option<([u8; 16], [u8; 8], u8)> {
    let (head, rest) = (text.get(..55)?, &text[55..]);
    let [version] = hex::<1>(&head[..2])?;
    let dashes = head[2] == b'-' && head[35] == b'-' && head[52] == b'-';
    let end = rest.is_empty() || version > 0 && rest[0] == b'-';
    let (trace, parent) = (hex::<16>(&head[3..35])?, hex::<8>(&head[36..52])?);
    let [flags] = hex::<1>(&head[53..55])?;
    let valid = version != 0xff && trace != [0; 16] && parent != [0; 8];
    (dashes && end && valid).then_some((trace, parent, flags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the standard.
    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn with(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn a_traced_request_becomes_a_span_and_hands_it_on() {
        let spans = Spans::default();
        let (hop, class): (Arc<str>, Arc<str>) = ("db".into(), "high".into());
        let mut headers = with(EXAMPLE);
        assert!(spans.begin(Nanos(1), &mut headers).is_none(), "nobody exports");
        assert_eq!(headers[TRACEPARENT], EXAMPLE);
        spans.switch_on();
        let open = spans.begin(Nanos(1), &mut headers).unwrap();
        let passed = headers[TRACEPARENT].to_str().unwrap().to_owned();
        let (trace, id, flags) = parse(passed.as_bytes()).unwrap();
        open.end(Nanos(1001), &hop, &class, "success");
        let taken = spans.take(9);
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].trace, taken[0].id, flags), (trace, id, 1));
        assert_eq!(taken[0].parent, [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]);
        assert_eq!(taken[0].took, Duration::from_nanos(1000));
        assert!(passed.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && passed != EXAMPLE);
        // The same with one that is not recorded, and with none.
        let mut unsampled = with(&EXAMPLE.replace("-01", "-00"));
        assert!(spans.begin(Nanos(1), &mut unsampled).is_none());
        assert!(spans.begin(Nanos(1), &mut HeaderMap::new()).is_none());
    }

    #[test]
    fn too_many_are_counted_and_dropped() {
        let spans = Spans::default();
        spans.switch_on();
        let (hop, class): (Arc<str>, Arc<str>) = ("db".into(), "high".into());
        for _ in 0..WAITING + 10 {
            let open = spans.begin(Nanos(1), &mut with(EXAMPLE)).unwrap();
            open.end(Nanos(2), &hop, &class, "failed");
        }
        assert_eq!((spans.lost(), spans.take(usize::MAX).len()), (10, WAITING));
    }

    #[test]
    fn what_is_no_trace_is_passed_on_untouched() {
        let spans = Spans::default();
        spans.switch_on();
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            let mut headers = with(wrong);
            assert!(spans.begin(Nanos(1), &mut headers).is_none(), "{wrong}");
            assert_eq!(headers[TRACEPARENT], wrong);
        }
        let later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x";
        assert!(spans.begin(Nanos(1), &mut with(later)).is_some());
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&bytes);
        }
    }
}

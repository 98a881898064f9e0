//! What travels in headers and gRPC metadata.
//!
//! Everything read here was written by a stranger: what cannot be read is as if it were not
//! there, and no number is trusted beyond its bound.

use damper_control::conditions::GrpcStatus;
use damper_control::pushback::{grpc_pushback, retry_after};
use damper_control::who::{CLASSES, COHORTS};
use damper_control::{Nanos, Pushback, Reason};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::clock;
use crate::error::Refusal;

/// The priority class: its number (0 is the highest), or its name where names are known.
pub const CLASS: HeaderName = HeaderName::from_static("x-damper-class");
/// What is left until the deadline, in whole milliseconds, when the request is sent.
pub const DEADLINE: HeaderName = HeaderName::from_static("x-damper-deadline-ms");
/// `1`: the callee, or something below it, is overloaded. Budgets that listen cut at once.
pub const OVERLOADED: HeaderName = HeaderName::from_static("x-damper-overloaded");
/// The highest rank that the callee lets in now (DAGOR): class × 128 + the user's cohort. Callers turn
/// away what is above it before they send.
pub const LEVEL: HeaderName = HeaderName::from_static("x-damper-level");
/// The reason for which a request was turned away before any work.
pub const REFUSED: HeaderName = HeaderName::from_static("x-damper-refused");
/// gRPC's deadline.
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// gRPC's status.
pub const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// gRPC's message.
pub const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// gRPC's push-back; over HTTP, too, a negative one says not to come back.
pub const GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
/// Attempts of this call before this one; absent on the first.
pub const GRPC_PREVIOUS_ATTEMPTS: HeaderName =
    HeaderName::from_static("grpc-previous-rpc-attempts");
/// The number of this attempt; the first is 1.
pub const ATTEMPT_COUNT: HeaderName = HeaderName::from_static("x-envoy-attempt-count");
/// Envoy's word that it shed the request itself.
pub const ENVOY_OVERLOADED: HeaderName = HeaderName::from_static("x-envoy-overloaded");
/// Envoy's word that a rate limit refused it.
pub const ENVOY_RATELIMITED: HeaderName = HeaderName::from_static("x-envoy-ratelimited");

/// Whether the message is gRPC.
#[must_use]
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.and_then(|k| k.strip_prefix(b"application/grpc"))
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// A number of ASCII digits and nothing else.
pub(crate) fn number(value: &[u8]) -> Option<u64> {
    let all = (1..=19).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    all.then(|| value.iter().fold(0, |sum, d| sum * 10 + u64::from(d - b'0')))
}

/// A user's rank among those of a class, as a header has it: 0, the most important, to 127.
#[must_use]
pub fn user(value: &[u8]) -> Option<u8> {
    let number = number(value.trim_ascii())?;
    u8::try_from(number).ok().filter(|user| u32::from(*user) < COHORTS)
}

/// The level that a callee tells, if it is one.
#[must_use]
pub fn level(headers: &HeaderMap) -> Option<u32> {
    let number = number(headers.get(LEVEL)?.as_bytes().trim_ascii())?;
    u32::try_from(number).ok().filter(|level| *level < CLASSES as u32 * COHORTS)
}

/// Reads `grpc-timeout`: at most eight digits and a unit.
#[must_use]
pub fn grpc_timeout(value: &[u8]) -> Option<Nanos> {
    let (unit, digits) = value.split_last()?;
    let nanos: u64 = match unit {
        b'H' => 3_600_000_000_000,
        b'M' => 60_000_000_000,
        b'S' => 1_000_000_000,
        b'm' => 1_000_000,
        b'u' => 1_000,
        b'n' => 1,
        _ => return None,
    };
    let number = number(digits).filter(|_| digits.len() <= 8)?;
    Some(Nanos(number.saturating_mul(nanos)))
}

/// The time that a caller leaves, as its headers say: the shorter of both forms.
#[must_use]
pub fn time_left(headers: &HeaderMap) -> Option<Nanos> {
    let plain = headers.get(DEADLINE).and_then(|v| number(v.as_bytes())).map(Nanos::from_millis);
    let grpc = headers.get(GRPC_TIMEOUT).and_then(|v| grpc_timeout(v.as_bytes()));
    match (plain, grpc) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Writes the time that is left, in the form of the protocol. Parts of a millisecond are cut, so
/// that no hop believes to have more time than its caller.
pub fn write_time_left(headers: &mut HeaderMap, left: Nanos) {
    let ms = left.0 / 1_000_000;
    if is_grpc(headers) {
        // Eight digits of milliseconds are a day; whoever waits longer is told in seconds.
        let text = match (ms, left.0 / 1000) {
            (0, us) => format!("{us}u"),
            (ms @ ..=99_999_999, _) => format!("{ms}m"),
            (ms, _) => format!("{}S", (ms / 1000).min(99_999_999)),
        };
        put(headers, GRPC_TIMEOUT, &text);
    } else {
        headers.insert(DEADLINE, HeaderValue::from(ms));
    }
}

/// Takes the time that is left out, in both forms.
pub fn remove_time_left(headers: &mut HeaderMap) {
    headers.remove(DEADLINE);
    headers.remove(GRPC_TIMEOUT);
}

/// Puts a text that is made of digits and letters.
fn put(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

/// Numbers an attempt; the first is 1.
pub fn write_attempt(headers: &mut HeaderMap, attempt: u32) {
    headers.insert(ATTEMPT_COUNT, HeaderValue::from(attempt));
    if attempt > 1 {
        headers.insert(GRPC_PREVIOUS_ATTEMPTS, HeaderValue::from(attempt - 1));
    } else {
        headers.remove(GRPC_PREVIOUS_ATTEMPTS);
    }
}

/// What a callee says about coming back; `cap` is the longest wait that is obeyed, beyond it
/// there is no coming back.
#[must_use]
pub fn pushback(headers: &HeaderMap, cap: Nanos) -> Option<Pushback> {
    let grpc = headers.get_all(GRPC_PUSHBACK).iter().map(HeaderValue::as_bytes);
    if let Some(pushback) = grpc_pushback(grpc, cap) {
        return Some(pushback);
    }
    let value = headers.get(RETRY_AFTER)?;
    retry_after(value.as_bytes(), clock::since_1970(), cap)
}

/// The gRPC status of a reply.
#[must_use]
pub fn status_of(headers: &HeaderMap) -> Option<GrpcStatus> {
    let code = number(headers.get(GRPC_STATUS)?.as_bytes())?;
    Some(u32::try_from(code).ok().and_then(GrpcStatus::from_code).unwrap_or(GrpcStatus::Unknown))
}

/// Whether the callee says that it is overloaded, or something below it.
#[must_use]
pub fn says_overloaded(headers: &HeaderMap) -> bool {
    headers.get(OVERLOADED).is_some_and(|v| v.as_bytes() == b"1")
        || headers.contains_key(ENVOY_OVERLOADED)
}

/// The gRPC status for a refusal: RESOURCE_EXHAUSTED where the caller asked for too much,
/// DEADLINE_EXCEEDED where its time is over, UNAVAILABLE for everything else.
#[must_use]
pub const fn grpc_status(refusal: &Refusal) -> GrpcStatus {
    match refusal.reason {
        Reason::RateLimited => GrpcStatus::ResourceExhausted,
        Reason::DeadlineTooClose => GrpcStatus::DeadlineExceeded,
        _ => GrpcStatus::Unavailable,
    }
}

/// Writes what a caller should know of a refusal: the reason, when to come back, and whether the
/// callee is overloaded. `Retry-After` has whole seconds, so a shorter wait is written as one. It
/// has no form for "do not come back": over HTTP that is said by [`GRPC_PUSHBACK`] as well, which
/// [`pushback`] and the Envoy filter read in replies of either protocol.
pub fn write_refusal(headers: &mut HeaderMap, refusal: &Refusal, grpc: bool) {
    headers.insert(REFUSED, HeaderValue::from_static(refusal.word()));
    if refusal.overloaded {
        headers.insert(OVERLOADED, HeaderValue::from_static("1"));
    }
    let Some(pushback) = refusal.pushback else { return };
    let Some(after) = pushback.wait() else {
        headers.insert(GRPC_PUSHBACK, HeaderValue::from_static("-1"));
        return;
    };
    let after = clock::duration(after);
    if grpc {
        // The form has 32 bits; a wait beyond it is none that anybody keeps to.
        let ms = u32::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        headers.insert(GRPC_PUSHBACK, HeaderValue::from(ms.min(i32::MAX as u32)));
    } else {
        let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grpc_timeouts_are_read_as_the_protocol_has_them() {
        let cases: [(&[u8], Option<u64>); 9] = [
            (b"100m", Some(100_000_000)),
            (b"1H", Some(3_600_000_000_000)),
            (b"99999999S", Some(99_999_999_000_000_000)),
            (b"123456789S", None),
            (b"S", None),
            (b"1s", None),
            (b"-1S", None),
            (b"", None),
            (b"7n", Some(7)),
        ];
        for (text, nanos) in cases {
            assert_eq!(grpc_timeout(text), nanos.map(Nanos), "{text:?}");
        }
    }

    #[test]
    fn the_shorter_of_two_deadlines_counts() {
        let mut headers = HeaderMap::new();
        assert_eq!(time_left(&headers), None);
        headers.insert(DEADLINE, HeaderValue::from_static("250"));
        headers.insert(GRPC_TIMEOUT, HeaderValue::from_static("200m"));
        assert_eq!(time_left(&headers), Some(Nanos::from_millis(200)));
        headers.insert(GRPC_TIMEOUT, HeaderValue::from_static("soon"));
        assert_eq!(time_left(&headers), Some(Nanos::from_millis(250)));
    }

    #[test]
    fn only_grpc_is_grpc() {
        for (kind, grpc) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;x=1", true),
            ("application/grpc-web", false),
            ("text/html", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(is_grpc(&headers), grpc, "{kind}");
        }
    }

    #[test]
    fn attempts_are_numbered_as_both_protocols_do() {
        let mut headers = HeaderMap::new();
        write_attempt(&mut headers, 3);
        assert_eq!(
            (headers[&ATTEMPT_COUNT].as_bytes(), headers[&GRPC_PREVIOUS_ATTEMPTS].as_bytes()),
            (&b"3"[..], &b"2"[..])
        );
        write_attempt(&mut headers, 1);
        assert!(!headers.contains_key(GRPC_PREVIOUS_ATTEMPTS), "absent on the first");
    }

    #[test]
    fn a_refusal_says_when_to_come_back() {
        let refusal = Refusal {
            pushback: Some(Pushback::After(Nanos(1_200_400_000))),
            overloaded: true,
            ..Refusal::new(Reason::Shed, 1)
        };
        let mut headers = HeaderMap::new();
        write_refusal(&mut headers, &refusal, false);
        assert_eq!(headers[RETRY_AFTER].as_bytes(), b"2", "never earlier than it was told");
        assert!(says_overloaded(&headers));
        let mut grpc = HeaderMap::new();
        write_refusal(&mut grpc, &refusal, true);
        assert_eq!(pushback(&grpc, Nanos::MAX), Some(Pushback::After(Nanos::from_millis(1201))));
        assert_eq!(pushback(&grpc, Nanos::from_millis(1000)), Some(Pushback::Stop));
        let stop = Refusal { pushback: Some(Pushback::Stop), ..refusal };
        for grpc in [false, true] {
            let mut headers = HeaderMap::new();
            write_refusal(&mut headers, &stop, grpc);
            assert_eq!(headers[GRPC_PUSHBACK], "-1");
            assert!(!headers.contains_key(RETRY_AFTER), "no time that it could be read as");
            assert_eq!(pushback(&headers, Nanos::MAX), Some(Pushback::Stop));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_and_never_longer(left: u64, grpc: bool) {
            let mut headers = HeaderMap::new();
            if grpc {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
            }
            write_time_left(&mut headers, Nanos(left));
            let read = time_left(&headers).unwrap();
            prop_assert!(read <= Nanos(left));
            let grain = if grpc && left >= 100_000_000_000_000 { 1_000_000_000 } else { 1_000_000 };
            prop_assert!(left - read.0 < grain || left > 99_999_999_000_000_000);
        }

        #[test]
        fn nothing_that_is_sent_panics(value: Vec<u8>) {
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                for name in [CLASS, DEADLINE, GRPC_TIMEOUT, GRPC_STATUS, GRPC_PUSHBACK, RETRY_AFTER, OVERLOADED] {
                    headers.insert(name, value.clone());
                }
            }
            let _ = (time_left(&headers), pushback(&headers, Nanos::MAX), status_of(&headers), says_overloaded(&headers));
        }
    }
}

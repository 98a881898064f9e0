//! Envoy's rate-limited back-off: headers that say when a rate limit resets.
//!
//! Source: Envoy `reset_header_parser.cc`, `retry_state_impl.cc`, `backoff_strategy.cc`.

use rand_core::Rng;

use super::{Pushback, digits};
use crate::Nanos;
use crate::chance::below;

const SECOND: u64 = 1_000_000_000;
const MILLI: u64 = 1_000_000;

/// Envoy's default for `max_interval`.
pub const ENVOY_MAX_INTERVAL: Nanos = Nanos::from_secs(300);

/// What the number in a reset header means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetFormat {
    /// Seconds from now.
    Seconds,
    /// Seconds since 1970.
    UnixTimestamp,
}

/// Reads the configured reset headers of a response in their order, the first value of each, at
/// `unix_now` (nanoseconds since 1970).
///
/// A value that is unreadable, in the past or above `max_interval` is passed over for the next
/// header. The first that is left counts: with more than a millisecond the delay is drawn from
/// once to one and a half times the interval, in whole milliseconds; otherwise there is none.
/// It serves one retry; the exponential backoff stays where it is.
#[must_use]
pub fn envoy_reset<'a, R: Rng + ?Sized>(
    headers: impl IntoIterator<Item = (ResetFormat, &'a [u8])>,
    unix_now: Nanos,
    max_interval: Nanos,
    rng: &mut R,
) -> Option<Pushback> {
    let interval = headers
        .into_iter()
        .filter_map(|(format, value)| interval(format, value, unix_now))
        .find(|interval| *interval <= max_interval)?;
    let ms = interval.0 / MILLI;
    (ms > 1).then(|| Pushback::Once(Nanos::from_millis(ms.saturating_add(below(ms / 2, rng)))))
}

fn interval(format: ResetFormat, value: &[u8], unix_now: Nanos) -> Option<Nanos> {
    let value = value.trim_ascii();
    let number = digits(value.strip_prefix(b"+").unwrap_or(value))?;
    match format {
        ResetFormat::Seconds => Some(Nanos::from_secs(number)),
        ResetFormat::UnixTimestamp => number.checked_sub(unix_now.0 / SECOND).map(Nanos::from_secs),
    }
}

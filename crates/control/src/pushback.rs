//! Push-back: what a callee says about when to come back.
//!
//! Sources: gRFC A6 (`grpc-retry-pushback-ms`); RFC 9110 10.2.3 (`Retry-After`); Envoy's
//! `rate_limited_retry_back_off`; AWS SDK retries v2.1 (`x-amz-retry-after`).
//!
//! A header comes from a stranger, so nothing here allocates, panics or trusts a number: a wait
//! beyond the cap that the caller names is [`Pushback::Stop`]. Coming back earlier than asked is
//! no answer to a callee that asks for time, and waiting for ever is none for a caller.

mod envoy;
mod retry_after;
#[cfg(test)]
mod tests;

use rand_core::Rng;

pub use envoy::{ENVOY_MAX_INTERVAL, ResetFormat, envoy_reset};
pub use retry_after::retry_after;

use crate::Nanos;
use crate::chance::below;

/// What a callee said about the next attempt.
///
/// It never overrides a limit, a budget or the conditions for a retry. (grpc-java lets a
/// push-back make a status retryable that the policy does not name; A6 and this crate do not.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pushback {
    /// After exactly this delay, without jitter; the backoff then starts again at its base.
    After(Nanos),
    /// After exactly this delay; the backoff stays where it is and serves the next retry.
    Once(Nanos),
    /// A hint: not before `wait`, but no more than `above` later than the caller's own delay.
    Hint {
        /// How long the callee would have it wait.
        wait: Nanos,
        /// The most that is added to the caller's own delay.
        above: Nanos,
    },
    /// Do not come back.
    Stop,
}

/// The most that AWS lets a hint add to a delay.
pub const AWS_ABOVE: Nanos = Nanos::from_secs(5);

impl Pushback {
    /// How long the callee would have the caller wait; `None`: for ever.
    #[inline]
    #[must_use]
    pub const fn wait(self) -> Option<Nanos> {
        match self {
            Self::After(wait) | Self::Once(wait) | Self::Hint { wait, .. } => Some(wait),
            Self::Stop => None,
        }
    }

    /// The same, or [`Pushback::Stop`] if the wait is longer than `cap`. A hint is bounded
    /// anyway and stays.
    #[must_use]
    pub fn bounded(self, cap: Nanos) -> Self {
        match self {
            Self::After(wait) | Self::Once(wait) if wait > cap => Self::Stop,
            _ => self,
        }
    }

    /// Envoy's remedy for callers that were all told the same instant: up to half of the wait on
    /// top, in place of exactly the wait.
    #[must_use]
    pub fn spread<R: Rng + ?Sized>(self, rng: &mut R) -> Self {
        let longer = |wait: Nanos, rng: &mut R| wait + Nanos(below(wait.0 / 2, rng));
        match self {
            Self::After(wait) => Self::After(longer(wait, rng)),
            Self::Once(wait) => Self::Once(longer(wait, rng)),
            _ => self,
        }
    }
}

/// Reads `grpc-retry-pushback-ms` (A6); `values` are all values of this name in the trailers.
///
/// An integer of 32 bits in ASCII without leading zeros. Negative or unreadable is
/// [`Pushback::Stop`], and so are several values, as grpc-go has it. A6 has no bound: give
/// `Nanos::MAX` as `cap` to have none.
#[must_use]
pub fn grpc_pushback<'a>(
    values: impl IntoIterator<Item = &'a [u8]>,
    cap: Nanos,
) -> Option<Pushback> {
    let mut values = values.into_iter();
    let value = values.next()?;
    if values.next().is_some() {
        return Some(Pushback::Stop);
    }
    let padded = value.len() > 1 && value[0] == b'0';
    let ms = digits(value).filter(|ms| !padded && *ms <= i32::MAX as u64);
    Some(ms.map_or(Pushback::Stop, |ms| Pushback::After(Nanos::from_millis(ms)).bounded(cap)))
}

/// Reads `x-amz-retry-after`: whole milliseconds, a hint of at most five seconds above the
/// caller's own delay. Negative or unreadable: as if it were not there.
#[must_use]
pub fn amz_retry_after(value: &[u8]) -> Option<Pushback> {
    let ms = digits(value.trim_ascii())?;
    Some(Pushback::Hint { wait: Nanos::from_millis(ms), above: AWS_ABOVE })
}

/// A number of ASCII digits and nothing else, saturating.
fn digits(value: &[u8]) -> Option<u64> {
    let all = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    all.then(|| {
        value.iter().fold(0u64, |sum, d| sum.saturating_mul(10).saturating_add(u64::from(d - b'0')))
    })
}

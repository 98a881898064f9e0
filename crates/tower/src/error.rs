//! What a layer answers in place of its inner service. Nothing is ever boxed.

use std::fmt;
use std::time::Duration;

use damper_control::{Outcome, Pushback, Reason};

use crate::clock;

/// A request that a layer did not pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The priority class of the request; 0 is the highest.
    pub class: u8,
    /// When to come back, where the control can tell, or that there is no coming back.
    pub pushback: Option<Pushback>,
    /// The callee is overloaded, or something below it: callers should cut their retries.
    pub overloaded: bool,
}

impl Refusal {
    /// A refusal that says nothing about coming back.
    #[must_use]
    pub const fn new(reason: Reason, class: u8) -> Self {
        Self { reason, class, pushback: None, overloaded: false }
    }

    /// A control's refusal, with its instant as a wait from now.
    pub(crate) fn from_control(refusal: damper_control::Refusal) -> Self {
        let wait = |at: damper_control::Nanos| Pushback::After(at.since(clock::now()));
        Self { pushback: refusal.earliest.map(wait), ..Self::new(refusal.reason, refusal.class) }
    }

    /// After what time the answer could be another; `None`: nobody knows, or never.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.pushback.and_then(Pushback::wait).map(clock::duration)
    }

    /// Whether an overload control chose to drop it ([`Outcome::Shed`]) or there was no place for
    /// it ([`Outcome::Rejected`]).
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self.reason {
            Reason::Shed | Reason::WaitedTooLong | Reason::Lever => Outcome::Shed,
            Reason::DeadlineTooClose => Outcome::TimedOut,
            _ => Outcome::Rejected,
        }
    }

    /// The HTTP status for it: 429 where the caller asked for too much, 504 where its time is
    /// over, 503 for everything else.
    #[must_use]
    pub const fn status(&self) -> http::StatusCode {
        match self.reason {
            Reason::RateLimited => http::StatusCode::TOO_MANY_REQUESTS,
            Reason::DeadlineTooClose => http::StatusCode::GATEWAY_TIMEOUT,
            _ => http::StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The reason in one word, as [`headers::REFUSED`](crate::headers::REFUSED) and the counters
    /// write it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        word(self.reason)
    }
}

/// A reason in one word.
pub(crate) const fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::NotRetryable => "not-retryable",
        Reason::LimitReached => "limit-reached",
        Reason::BudgetExhausted => "budget-exhausted",
        Reason::DeadlineTooClose => "deadline-too-close",
        Reason::RateLimited => "rate-limited",
        Reason::PushedBack => "pushed-back",
        Reason::Throttled => "throttled",
        Reason::BreakerOpen => "breaker-open",
        Reason::ConcurrencyLimited => "concurrency-limited",
        Reason::QueueFull => "queue-full",
        Reason::WaitedTooLong => "waited-too-long",
        Reason::Shed => "shed",
        Reason::Lever => "lever",
        _ => "other",
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {} (class {})", self.word(), self.class)?;
        match (self.pushback, self.retry_after()) {
            (Some(_), Some(after)) => write!(f, ", try again after {} ms", after.as_millis()),
            (Some(_), None) => f.write_str(", do not try again"),
            (None, _) => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// No reply came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut {
    /// The priority class of the request.
    pub class: u8,
    /// Attempts that were made.
    pub attempts: u32,
    /// The deadline of the whole call is over, not only the timeout of its last attempt.
    pub deadline: bool,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.deadline { "the deadline is over" } else { "the attempt timed out" };
        write!(f, "{what} after {} attempts (class {})", self.attempts, self.class)
    }
}

impl std::error::Error for TimedOut {}

/// How a call through a layer fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// This layer did not pass the request on, or not to the end.
    Refused(Refusal),
    /// No reply came in time: neither a refusal nor an error of the inner service.
    TimedOut(TimedOut),
    /// The error of the inner service, as it was.
    Inner(E),
}

impl<E> Error<E> {
    /// The refusal, if it is one.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The inner error, if it is one.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Inner(inner) => Some(inner),
            _ => None,
        }
    }

    /// The same with another inner error.
    pub fn map_inner<F>(self, map: impl FnOnce(E) -> F) -> Error<F> {
        match self {
            Self::Refused(refusal) => Error::Refused(refusal),
            Self::TimedOut(timed_out) => Error::TimedOut(timed_out),
            Self::Inner(inner) => Error::Inner(map(inner)),
        }
    }
}

impl<E> Error<Error<E>> {
    /// The error of two layers as one.
    pub fn flatten(self) -> Error<E> {
        match self {
            Self::Refused(refusal) => Error::Refused(refusal),
            Self::TimedOut(timed_out) => Error::TimedOut(timed_out),
            Self::Inner(inner) => inner,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::TimedOut(timed_out) => timed_out.fmt(f),
            Self::Inner(inner) => inner.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    /// What is inside it, so that a refusal is found along the chain of sources however deep.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Refused(refusal) => refusal,
            Self::TimedOut(timed_out) => timed_out,
            Self::Inner(inner) => inner,
        })
    }
}

#[cfg(feature = "tonic")]
impl From<Refusal> for tonic::Status {
    /// UNAVAILABLE, RESOURCE_EXHAUSTED or DEADLINE_EXCEEDED, with the push-back in its metadata.
    fn from(refusal: Refusal) -> Self {
        let mut metadata = http::HeaderMap::new();
        crate::headers::write_refusal(&mut metadata, &refusal, true);
        let code = tonic::Code::from_i32(i32::from(crate::headers::grpc_status(&refusal).code()));
        Self::with_metadata(
            code,
            refusal.to_string(),
            tonic::metadata::MetadataMap::from_headers(metadata),
        )
    }
}

#[cfg(feature = "tonic")]
impl<E: Into<tonic::Status>> From<Error<E>> for tonic::Status {
    fn from(error: Error<E>) -> Self {
        match error {
            Error::Refused(refusal) => refusal.into(),
            Error::TimedOut(timed_out) => Self::deadline_exceeded(timed_out.to_string()),
            Error::Inner(inner) => inner.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_control::Nanos;
    use std::error::Error as _;

    #[test]
    fn errors_keep_their_type_and_say_what_is_inside() {
        let refusal = Refusal {
            pushback: Some(Pushback::After(Nanos::from_millis(1500))),
            ..Refusal::new(Reason::QueueFull, 1)
        };
        let nested: Error<Error<std::fmt::Error>> = Error::Inner(Error::Refused(refusal));
        assert_eq!(nested.to_string(), "refused: queue-full (class 1), try again after 1500 ms");
        let inner = nested.source().and_then(std::error::Error::source);
        assert!(inner.is_some_and(<dyn std::error::Error>::is::<Refusal>));
        assert_eq!(nested.flatten(), Error::Refused(refusal));
        let stop = Refusal { pushback: Some(Pushback::Stop), ..refusal };
        assert_eq!(stop.to_string(), "refused: queue-full (class 1), do not try again");
        assert_eq!(stop.retry_after(), None);
        let inner: Error<u8> = Error::Inner(7);
        assert_eq!((inner.refusal(), inner.into_inner()), (None, Some(7)));
        assert_eq!(inner.map_inner(u32::from), Error::Inner(7u32));
    }

    #[test]
    fn refusals_have_the_status_that_fits() {
        for (reason, status) in [
            (Reason::RateLimited, 429),
            (Reason::Shed, 503),
            (Reason::DeadlineTooClose, 504),
            (Reason::ConcurrencyLimited, 503),
        ] {
            assert_eq!(Refusal::new(reason, 0).status().as_u16(), status);
        }
    }
}

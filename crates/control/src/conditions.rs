//! Conditions: which replies are retried, in the words of HTTP, gRPC, AWS and Envoy.
//!
//! Sources: gRFC A6 (status codes); botocore `retries/standard.py` (error classes); Envoy
//! `retry_state_impl.cc` (`retry_on`); the annotations of Linkerd 2.16.
//!
//! A [`Reply`] says how an attempt ended. [`Conditions`] say whether that is retried, and
//! [`Reply::outcome`] says what it is to a budget, a breaker or a limit, which know no protocol.

mod aws;
mod grpc;
mod method;
mod reply;
mod status;
#[cfg(test)]
mod tests;
mod words;

pub use aws::{ErrorClass, THROTTLING_CODES, TRANSIENT_CODES};
pub use grpc::{GrpcSet, GrpcStatus};
pub use method::{is_idempotent, is_safe};
pub use reply::{Answer, Lost, Reply, Reset, Sent};
pub use status::StatusSet;
pub use words::{NotACondition, WORDS};

/// Which replies are retried: a union of conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    words: u32,
    statuses: StatusSet,
    grpc: GrpcSet,
    before_work: bool,
}

const fn word(bit: u32) -> Conditions {
    Conditions {
        words: 1 << bit,
        statuses: StatusSet::EMPTY,
        grpc: GrpcSet::EMPTY,
        before_work: false,
    }
}

impl Conditions {
    /// Retries nothing.
    pub const NONE: Self = Self { words: 0, ..word(0) };

    /// Envoy's `5xx`: any such status, and no reply at all.
    pub const FIVE_XX: Self = word(0);
    /// Envoy's `gateway-error`: 502, 503, 504, and no reply at all.
    pub const GATEWAY_ERROR: Self = word(1);
    /// Envoy's `reset`: no reply at all.
    pub const RESET: Self = word(2);
    /// Envoy's `reset-before-request`: no reply, and nothing of the request was sent.
    pub const RESET_BEFORE_REQUEST: Self = word(3);
    /// Envoy's `connect-failure`: refused, or not connected in time.
    pub const CONNECT_FAILURE: Self = word(4);
    /// Envoy's `envoy-ratelimited`: the reply carries `x-envoy-ratelimited`.
    pub const ENVOY_RATELIMITED: Self = word(5);
    /// Envoy's `retriable-4xx`: 409 and no other.
    pub const RETRIABLE_4XX: Self = word(6);
    /// Envoy's `refused-stream`: the callee's HTTP/2 library turned the stream away.
    pub const REFUSED_STREAM: Self = word(7);
    /// Envoy's `retriable-status-codes`: those of [`Conditions::with_statuses`].
    pub const RETRIABLE_STATUS_CODES: Self = word(8);
    /// Envoy's `retriable-headers`: the caller's matchers said so ([`Answer::header_matches`]).
    pub const RETRIABLE_HEADERS: Self = word(9);
    /// Envoy's `http3-post-connect-failure`: QUIC failed after its handshake.
    pub const HTTP3_POST_CONNECT_FAILURE: Self = word(10);
    /// The timeout of an attempt (Linkerd's `retry.linkerd.io/timeout`). Envoy has no word of its
    /// own: it resets the stream, so `5xx`, `gateway-error` and `reset` apply.
    pub const TIMEOUT: Self = word(11);
    /// A lost reply counts as the gRPC status UNAVAILABLE, as a gRPC client sees it.
    pub const LOST_IS_UNAVAILABLE: Self = word(12);
    /// botocore's transient errors: three error codes, 500, 502, 503, 504, and whatever goes wrong
    /// with the connection, timeouts included.
    pub const AWS_TRANSIENT: Self = word(13);
    /// botocore's 14 throttling codes. A status alone, even 429, is no throttling.
    pub const AWS_THROTTLING: Self = word(14);
    /// Errors that the model of an AWS service marks as retryable ([`Answer::modeled`]).
    pub const AWS_MODELED: Self = word(15);

    /// The standard mode of the AWS SDKs.
    pub const AWS_STANDARD: Self =
        Self::AWS_TRANSIENT.or(Self::AWS_THROTTLING).or(Self::AWS_MODELED);
    /// The legacy mode of botocore: 429 and 509 by their status.
    pub const AWS_LEGACY: Self = Self::AWS_TRANSIENT
        .or(Self::AWS_THROTTLING)
        .with_statuses(StatusSet::EMPTY.with(429).with(509));

    /// A gRPC retry policy with these `retryableStatusCodes`.
    #[must_use]
    pub const fn grpc(codes: GrpcSet) -> Self {
        Self { grpc: codes, ..Self::LOST_IS_UNAVAILABLE }
    }

    /// Linkerd's annotated routes with these statuses: theirs, the timeout of an attempt and
    /// REFUSED_STREAM, but no other failure of a connection.
    #[must_use]
    pub const fn linkerd(statuses: StatusSet, codes: GrpcSet) -> Self {
        Self { grpc: codes, ..Self::TIMEOUT.or(Self::REFUSED_STREAM).with_statuses(statuses) }
    }

    /// What either retries. Narrowed, if either is.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            words: self.words | other.words,
            statuses: self.statuses.or(other.statuses),
            grpc: self.grpc.or(other.grpc),
            before_work: self.before_work || other.before_work,
        }
    }

    /// These statuses as well.
    #[must_use]
    pub const fn with_statuses(self, statuses: StatusSet) -> Self {
        let all = self.or(Self::RETRIABLE_STATUS_CODES);
        Self { statuses: all.statuses.or(statuses), ..all }
    }

    /// These gRPC statuses as well, where the reply has no other headers before them.
    #[must_use]
    pub const fn with_grpc(self, codes: GrpcSet) -> Self {
        Self { grpc: self.grpc.or(codes), ..self }
    }

    /// The same for a call whose work must not be done twice: only what was provably not sent,
    /// or refused before any work.
    #[must_use]
    pub const fn for_unsafe_calls(self) -> Self {
        Self { before_work: true, ..self }
    }

    /// Whether nothing is retried.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.words == 0 && self.grpc.is_empty()
    }

    /// Whether an attempt that ended like this is retried, as far as its end decides it.
    #[must_use]
    pub fn retries(&self, reply: &Reply<'_>) -> bool {
        let retried = match reply {
            Reply::Lost(lost) => self.retries_lost(lost),
            Reply::Answer(answer) => self.retries_answer(answer),
        };
        retried && (!self.before_work || reply.before_work())
    }

    fn has(&self, any: Self) -> bool {
        self.words & any.words != 0
    }

    fn retries_lost(&self, lost: &Lost) -> bool {
        let no_reply =
            Self::FIVE_XX.or(Self::GATEWAY_ERROR).or(Self::RESET).or(Self::AWS_TRANSIENT);
        let special = match lost.reset {
            // The call is over, or this side chose not to send: nothing overrides that.
            Reset::DeadlineOver | Reset::Overflow | Reset::Dropped => return false,
            Reset::ConnectFailure | Reset::ConnectTimeout => Self::CONNECT_FAILURE,
            Reset::RefusedStream | Reset::GoAway => Self::REFUSED_STREAM,
            Reset::TimedOut => Self::TIMEOUT,
            Reset::Http3PostConnect => Self::HTTP3_POST_CONNECT_FAILURE,
            Reset::Closed => Self::NONE,
        };
        self.has(no_reply.or(special))
            || self.has(Self::RESET_BEFORE_REQUEST) && lost.sent == Sent::Nothing
            || self.has(Self::LOST_IS_UNAVAILABLE) && self.grpc.contains(GrpcStatus::Unavailable)
    }

    fn retries_answer(&self, answer: &Answer<'_>) -> bool {
        if answer.committed {
            return false;
        }
        if answer.ratelimited {
            return self.has(Self::ENVOY_RATELIMITED);
        }
        let status = answer.status;
        let gateway = matches!(status, 502..=504);
        let class = answer.code.and_then(ErrorClass::of);
        self.has(Self::FIVE_XX) && matches!(status, 500..=599)
            || self.has(Self::GATEWAY_ERROR) && gateway
            || self.has(Self::RETRIABLE_4XX) && status == 409
            || self.has(Self::RETRIABLE_STATUS_CODES) && self.statuses.contains(status)
            || self.has(Self::RETRIABLE_HEADERS) && answer.header_matches
            || answer.grpc.is_some_and(|code| self.grpc.contains(code))
            || self.has(Self::AWS_TRANSIENT)
                && (status == 500 || gateway || class.is_some_and(|c| c.transient))
            || self.has(Self::AWS_THROTTLING) && class.is_some_and(|c| c.throttling)
            || self.has(Self::AWS_MODELED) && answer.modeled
    }
}

impl core::ops::BitOr for Conditions {
    type Output = Self;
    fn bitor(self, rhs: Self) -> Self {
        self.or(rhs)
    }
}

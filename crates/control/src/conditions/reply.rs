//! How an attempt ended, as its protocol tells it.

use super::{ErrorClass, GrpcStatus};
use crate::{Outcome, RetryOn};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Without an answer.
    Lost(Lost),
    /// With an answer, which may say that it failed.
    Answer(Answer<'a>),
}

/// An attempt without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lost {
    /// What ended it.
    pub reset: Reset,
    /// What of the request had left by then.
    pub sent: Sent,
}

/// What of a request has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Nothing, not even its headers.
    Nothing,
    /// Something, or nobody knows.
    Something,
}

/// What ended an attempt without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reset {
    /// The connection was refused or could not be made.
    ConnectFailure,
    /// The connection was not made in time.
    ConnectTimeout,
    /// The callee's HTTP/2 library turned the stream away (REFUSED_STREAM): no work was done.
    RefusedStream,
    /// The callee is going away and will not look at this stream: its last stream is lower.
    GoAway,
    /// The connection or the stream was closed.
    Closed,
    /// The timeout of the attempt.
    TimedOut,
    /// The deadline of the call: nothing follows.
    DeadlineOver,
    /// A limit of the caller's own side, such as a circuit breaker: never sent.
    Overflow,
    /// The load balancer said to drop it: never sent.
    Dropped,
    /// QUIC failed after its handshake.
    Http3PostConnect,
}

/// An answer. What a protocol does not have stays at its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The HTTP status; 0 if there is none.
    pub status: u16,
    /// The gRPC status, where it came without other headers before it (trailers only).
    pub grpc: Option<GrpcStatus>,
    /// The error code that an AWS service wrote into its answer.
    pub code: Option<&'a str>,
    /// The model of the AWS service marks this error as retryable.
    pub modeled: bool,
    /// It carries `x-envoy-ratelimited`.
    pub ratelimited: bool,
    /// It says that the callee is overloaded and shed it (`x-envoy-overloaded`).
    pub overloaded: bool,
    /// A matcher for `retriable-headers` matches.
    pub header_matches: bool,
    /// Part of it has been passed on (for gRPC: headers came before the status), so there is no
    /// way back.
    pub committed: bool,
}

impl Answer<'_> {
    /// An HTTP answer with this status and nothing else to it.
    #[must_use]
    pub fn http(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// A gRPC answer that consists of its status.
    #[must_use]
    pub fn grpc(status: GrpcStatus) -> Self {
        Self { status: 200, grpc: Some(status), ..Self::default() }
    }

    fn outcome(&self) -> Outcome {
        let throttling = self.code.and_then(ErrorClass::of).is_some_and(|c| c.throttling);
        if self.overloaded {
            return Outcome::Shed;
        }
        if self.ratelimited || throttling {
            return Outcome::Rejected;
        }
        match (self.grpc, self.status) {
            (Some(GrpcStatus::Ok), _) => Outcome::Success,
            (Some(GrpcStatus::ResourceExhausted), _) => Outcome::Rejected,
            (Some(GrpcStatus::DeadlineExceeded), _) => Outcome::TimedOut,
            (Some(_), _) => Outcome::Failed,
            (None, 100..=399) => Outcome::Success,
            (None, 425 | 429) => Outcome::Rejected,
            (None, 502 | 504) => Outcome::FailedBelow,
            (None, _) => Outcome::Failed,
        }
    }
}

impl Reply<'_> {
    /// No answer.
    #[must_use]
    pub const fn lost(reset: Reset, sent: Sent) -> Self {
        Self::Lost(Lost { reset, sent })
    }

    /// What it is to a control.
    ///
    /// An attempt that was turned away before any work is rejected, or shed if an overload
    /// control says that it did so. A connection that is not made in time is a timeout, because
    /// AWS's quota charges for it as for one, though nothing was sent. 502 and 504 come from
    /// below the callee. 503 says nothing about whether work was done, so it is a failure.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Lost(lost) => match (lost.reset, lost.sent) {
                (Reset::Dropped, _) => Outcome::Shed,
                (Reset::ConnectTimeout | Reset::TimedOut | Reset::DeadlineOver, _) => {
                    Outcome::TimedOut
                }
                (
                    Reset::ConnectFailure | Reset::RefusedStream | Reset::GoAway | Reset::Overflow,
                    _,
                )
                | (_, Sent::Nothing) => Outcome::Rejected,
                (Reset::Closed | Reset::Http3PostConnect, Sent::Something) => Outcome::Failed,
            },
            Self::Answer(answer) => answer.outcome(),
        }
    }

    /// Whether it is certain that no work was done, so that even a call whose work must not be
    /// done twice can be sent again.
    #[must_use]
    pub fn before_work(&self) -> bool {
        let early = RetryOn::BEFORE_WORK.contains(self.outcome());
        match self {
            Self::Lost(lost) => {
                early || lost.sent == Sent::Nothing || lost.reset == Reset::ConnectTimeout
            }
            // gRPC also says RESOURCE_EXHAUSTED when a reply has become too large, which is after
            // all work; only a server that says it was overloaded or limited a rate is certain.
            Self::Answer(answer) => {
                let certain = answer.ratelimited || answer.overloaded;
                let doubtful = answer.grpc == Some(GrpcStatus::ResourceExhausted) && !certain;
                early && !answer.committed && !doubtful
            }
        }
    }

    /// Whether it is the request that is at fault. Its [outcome](Reply::outcome) is a failure,
    /// which no budget may take for a success; but the callee works, so a breaker or a
    /// concurrency limit should be told [`Outcome::Success`].
    #[must_use]
    pub fn blames_request(&self) -> bool {
        match self {
            Self::Answer(answer) if self.outcome() == Outcome::Failed => match answer.grpc {
                Some(status) => status.blames_request(),
                None => matches!(answer.status, 400..=499) && answer.status != 408,
            },
            _ => false,
        }
    }
}

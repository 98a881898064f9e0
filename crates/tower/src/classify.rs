//! How an attempt ended, from the reply or the error of the inner service.

use damper_control::conditions::{
    Answer, Conditions, GrpcSet, GrpcStatus, Lost, Reply, Reset, Sent,
};
use damper_control::retry::Reached;
use damper_control::{Nanos, Outcome, Pushback};
use http::HeaderMap;

use crate::error::{Refusal, TimedOut};
use crate::headers;

/// What a layer knows of an attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How it ended.
    pub outcome: Outcome,
    /// What it is to a breaker or a limit: an error of the request's own is none of the callee.
    pub health: Outcome,
    /// Conditions allow a retry.
    pub eligible: bool,
    /// It is certain that no work was done.
    pub before_work: bool,
    /// How far it came, for retries that no policy counts.
    pub reached: Reached,
    /// What the callee said about coming back.
    pub pushback: Option<Pushback>,
    /// The callee said OVERLOADED.
    pub overloaded: bool,
    /// The reply is good so far, and its status is still to come in the trailers.
    pub pending: bool,
}

impl Seen {
    /// What a reply says. Without conditions every failure is eligible but what this side did
    /// not send, and what the deadline ended.
    #[must_use]
    pub fn of(reply: &Reply<'_>, conditions: Option<&Conditions>) -> Self {
        let own = matches!(
            reply,
            Reply::Lost(Lost { reset: Reset::Overflow | Reset::Dropped | Reset::DeadlineOver, .. })
        );
        let committed = matches!(reply, Reply::Answer(answer) if answer.committed);
        let eligible = match conditions {
            Some(conditions) => conditions.retries(reply),
            None => !own && !committed && !reply.blames_request(),
        };
        let outcome = match reply.outcome() {
            Outcome::Success if eligible && conditions.is_some() => Outcome::Failed,
            outcome => outcome,
        };
        Self {
            outcome,
            health: if reply.blames_request() { Outcome::Success } else { outcome },
            eligible,
            before_work: reply.before_work(),
            reached: Reached::by(reply),
            pushback: None,
            overloaded: false,
            pending: false,
        }
    }

    /// An attempt whose timeout, or whose call's deadline, ended it.
    #[must_use]
    pub fn timed_out(conditions: Option<&Conditions>, deadline: bool) -> Self {
        let reset = if deadline { Reset::DeadlineOver } else { Reset::TimedOut };
        Self::of(&Reply::lost(reset, Sent::Something), conditions)
    }
}

/// Tells how attempts ended.
pub trait Classify<Res, E> {
    /// An attempt ended with this reply, of which only the head has come, or with this error.
    fn classify(&self, end: Result<&Res, &E>) -> Seen;

    /// The timeout of an attempt ended it.
    fn timed_out(&self) -> Seen {
        Seen::timed_out(None, false)
    }

    /// The trailers of a reply that was [pending](Seen::pending); `None`: it had none.
    fn trailers(&self, trailers: Option<&HeaderMap>) -> Outcome {
        let _ = trailers;
        Outcome::Success
    }
}

/// Says what an error of the inner service means.
pub trait Fault<E: ?Sized> {
    /// What ended the attempt, and what of the request had left.
    fn lost(&self, error: &E) -> Lost;
}

impl<E: ?Sized, F: Fn(&E) -> Lost> Fault<E> for F {
    fn lost(&self, error: &E) -> Lost {
        self(error)
    }
}

/// Looks along the chain of an error's sources for what the standard library and these layers
/// say: a refusal of a layer below, a timeout, a connection that could not be made. What it does
/// not find may have been sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain;

/// The most sources that are followed.
const DEPTH: usize = 16;

impl<E: std::error::Error + 'static> Fault<E> for Chain {
    fn lost(&self, error: &E) -> Lost {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
        for _ in 0..DEPTH {
            let Some(error) = next else { break };
            if error.is::<Refusal>() {
                return Lost { reset: Reset::Overflow, sent: Sent::Nothing };
            }
            if let Some(timed_out) = error.downcast_ref::<TimedOut>() {
                let over = timed_out.deadline;
                let reset = if over { Reset::DeadlineOver } else { Reset::TimedOut };
                return Lost { reset, sent: Sent::Something };
            }
            if let Some(io) = error.downcast_ref::<std::io::Error>()
                && let Some(lost) = by_io(io.kind())
            {
                return lost;
            }
            next = error.source();
        }
        Lost { reset: Reset::Closed, sent: Sent::Something }
    }
}

fn by_io(kind: std::io::ErrorKind) -> Option<Lost> {
    use std::io::ErrorKind as K;
    match kind {
        // Nothing but connecting gives these, so nothing was sent.
        K::ConnectionRefused | K::HostUnreachable | K::NetworkUnreachable | K::AddrNotAvailable => {
            Some(Lost { reset: Reset::ConnectFailure, sent: Sent::Nothing })
        }
        K::TimedOut => Some(Lost { reset: Reset::TimedOut, sent: Sent::Something }),
        _ => None,
    }
}

/// The longest push-back that is obeyed, unless said otherwise; whoever asks for more is not
/// asked again.
pub const PUSHBACK_CAP: Nanos = Nanos::from_secs(300);

/// HTTP: the status decides.
#[derive(Clone, Copy, Debug)]
pub struct Http<F = Chain> {
    conditions: Option<Conditions>,
    cap: Nanos,
    heeds: bool,
    fault: F,
}

impl Default for Http {
    fn default() -> Self {
        Self { conditions: None, cap: PUSHBACK_CAP, heeds: true, fault: Chain }
    }
}

impl<F> Http<F> {
    /// Retries only what these conditions name.
    #[must_use]
    pub fn with_conditions(self, conditions: Conditions) -> Self {
        Self { conditions: Some(conditions), ..self }
    }

    /// Obeys push-back up to this wait.
    #[must_use]
    pub fn with_pushback_cap(self, cap: Nanos) -> Self {
        Self { cap, ..self }
    }

    /// Does not do what push-back says, or does.
    #[must_use]
    pub fn with_pushback(self, heeds: bool) -> Self {
        Self { heeds, ..self }
    }

    /// Reads the errors of the inner service like this.
    #[must_use]
    pub fn with_fault<G>(self, fault: G) -> Http<G> {
        Http { conditions: self.conditions, cap: self.cap, heeds: self.heeds, fault }
    }
}

/// Whether an error reply says that an overload control shed the request. OVERLOADED on a good
/// reply is a word about the callee, not about this request.
fn shed(map: &HeaderMap) -> bool {
    let refused = map.get(headers::REFUSED).map(http::HeaderValue::as_bytes);
    map.contains_key(headers::ENVOY_OVERLOADED)
        || matches!(refused, Some(b"shed" | b"waited-too-long" | b"lever"))
}

/// Whether an error reply says that there was no place for the request.
fn limited(map: &HeaderMap) -> bool {
    map.contains_key(headers::ENVOY_RATELIMITED)
        || map.get(headers::REFUSED).is_some_and(|v| {
            matches!(v.as_bytes(), b"rate-limited" | b"concurrency-limited" | b"queue-full")
        })
}

impl<B, E, F: Fault<E>> Classify<http::Response<B>, E> for Http<F> {
    fn classify(&self, end: Result<&http::Response<B>, &E>) -> Seen {
        let conditions = self.conditions.as_ref();
        let response = match end {
            Ok(response) => response,
            Err(error) => return Seen::of(&Reply::Lost(self.fault.lost(error)), conditions),
        };
        let (status, map) = (response.status().as_u16(), response.headers());
        if status < 400 && conditions.is_none() {
            let good = Seen::of(&Reply::Answer(Answer::http(status)), None);
            return Seen { overloaded: headers::says_overloaded(map), ..good };
        }
        let failed = status >= 400;
        let answer = Answer { overloaded: failed && shed(map), ..Answer::http(status) };
        let mut seen = Seen::of(&Reply::Answer(answer), conditions);
        if failed && limited(map) && !answer.overloaded {
            // A rate limit of the callee's, whatever status it chose: no work was done. Whether it
            // is retried is still for its status to say.
            (seen.outcome, seen.before_work) = (Outcome::Rejected, true);
        }
        seen.overloaded = headers::says_overloaded(map);
        seen.pushback = headers::pushback(map, self.cap).filter(|_| failed && self.heeds);
        seen
    }

    fn timed_out(&self) -> Seen {
        Seen::timed_out(self.conditions.as_ref(), false)
    }
}

/// gRPC: the status decides, in the head of a reply that is nothing else (trailers only) or in
/// its trailers. A reply whose head came before its status is committed.
#[derive(Clone, Copy, Debug)]
pub struct Grpc<F = Chain> {
    conditions: Option<Conditions>,
    cap: Nanos,
    heeds: bool,
    fault: F,
}

impl Default for Grpc {
    fn default() -> Self {
        Self { conditions: None, cap: PUSHBACK_CAP, heeds: true, fault: Chain }
    }
}

impl<F> Grpc<F> {
    /// Retries only these (A6's `retryableStatusCodes`, or `nonFatalStatusCodes` for hedging).
    #[must_use]
    pub fn with_codes(self, codes: GrpcSet) -> Self {
        Self { conditions: Some(Conditions::grpc(codes)), ..self }
    }

    /// Retries only what these conditions name.
    #[must_use]
    pub fn with_conditions(self, conditions: Conditions) -> Self {
        Self { conditions: Some(conditions), ..self }
    }

    /// Obeys push-back up to this wait. A6 has no bound.
    #[must_use]
    pub fn with_pushback_cap(self, cap: Nanos) -> Self {
        Self { cap, ..self }
    }

    /// Does not do what push-back says, or does.
    #[must_use]
    pub fn with_pushback(self, heeds: bool) -> Self {
        Self { heeds, ..self }
    }

    /// Reads the errors of the inner service like this.
    #[must_use]
    pub fn with_fault<G>(self, fault: G) -> Grpc<G> {
        Grpc { conditions: self.conditions, cap: self.cap, heeds: self.heeds, fault }
    }
}

/// The status of a gRPC call that was answered without one, by the protocol's table.
const fn by_http(status: u16) -> GrpcStatus {
    match status {
        400 => GrpcStatus::Internal,
        401 => GrpcStatus::Unauthenticated,
        403 => GrpcStatus::PermissionDenied,
        404 => GrpcStatus::Unimplemented,
        429 | 502 | 503 | 504 => GrpcStatus::Unavailable,
        _ => GrpcStatus::Unknown,
    }
}

impl<B, E, F: Fault<E>> Classify<http::Response<B>, E> for Grpc<F> {
    fn classify(&self, end: Result<&http::Response<B>, &E>) -> Seen {
        let conditions = self.conditions.as_ref();
        let response = match end {
            Ok(response) => response,
            Err(error) => return Seen::of(&Reply::Lost(self.fault.lost(error)), conditions),
        };
        let map = response.headers();
        let http = response.status().as_u16();
        let status = match headers::status_of(map) {
            Some(status) => status,
            None if http != 200 => by_http(http),
            None => {
                let good = Answer { committed: true, ..Answer::grpc(GrpcStatus::Ok) };
                let seen = Seen::of(&Reply::Answer(good), conditions);
                return Seen { pending: true, overloaded: headers::says_overloaded(map), ..seen };
            }
        };
        let failed = status != GrpcStatus::Ok;
        let answer = Answer { overloaded: failed && shed(map), ..Answer::grpc(status) };
        let mut seen = Seen::of(&Reply::Answer(answer), conditions);
        if failed && limited(map) && !answer.overloaded {
            (seen.outcome, seen.before_work) = (Outcome::Rejected, true);
        }
        seen.overloaded = headers::says_overloaded(map);
        seen.pushback = headers::pushback(map, self.cap).filter(|_| failed && self.heeds);
        seen
    }

    fn timed_out(&self) -> Seen {
        Seen::timed_out(self.conditions.as_ref(), false)
    }

    fn trailers(&self, trailers: Option<&HeaderMap>) -> Outcome {
        // A stream that ends without a status has failed.
        let status = trailers.and_then(headers::status_of).unwrap_or(GrpcStatus::Unknown);
        Reply::Answer(Answer::grpc(status)).outcome()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use damper_control::Reason;
    use http::{HeaderValue, Response};
    use std::convert::Infallible;

    fn reply(status: u16, headers: &[(&'static str, &'static str)]) -> Response<()> {
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
        for (name, value) in headers {
            response.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        response
    }

    fn http(status: u16, headers: &[(&'static str, &'static str)]) -> Seen {
        Classify::<_, Infallible>::classify(&Http::default(), Ok(&reply(status, headers)))
    }

    fn grpc(headers: &[(&'static str, &'static str)]) -> Seen {
        let codes = GrpcSet::EMPTY.with(GrpcStatus::Unavailable);
        let grpc = Grpc::default().with_codes(codes);
        Classify::<_, Infallible>::classify(&grpc, Ok(&reply(200, headers)))
    }

    #[test]
    fn statuses_are_ends() {
        for (status, outcome, health, eligible) in [
            (200, Outcome::Success, Outcome::Success, true),
            (404, Outcome::Failed, Outcome::Success, false),
            (429, Outcome::Rejected, Outcome::Rejected, true),
            (500, Outcome::Failed, Outcome::Failed, true),
            (502, Outcome::FailedBelow, Outcome::FailedBelow, true),
        ] {
            let seen = http(status, &[]);
            assert_eq!((seen.outcome, seen.health, seen.eligible), (outcome, health, eligible));
        }
    }

    #[test]
    fn a_refusal_of_an_overload_control_is_known_as_one() {
        let seen = http(503, &[("x-damper-refused", "shed"), ("x-damper-overloaded", "1")]);
        assert_eq!((seen.outcome, seen.before_work, seen.overloaded), (Outcome::Shed, true, true));
        let seen = http(503, &[("x-damper-refused", "queue-full"), ("retry-after", "2")]);
        assert_eq!((seen.outcome, seen.before_work), (Outcome::Rejected, true));
        assert_eq!(seen.pushback, Some(Pushback::After(Nanos::from_secs(2))));
        let seen = http(200, &[("x-damper-overloaded", "1"), ("retry-after", "2")]);
        assert_eq!((seen.outcome, seen.overloaded, seen.pushback), (Outcome::Success, true, None));
        let seen = http(503, &[("retry-after", "86400")]);
        assert_eq!(seen.pushback, Some(Pushback::Stop), "beyond the cap");
    }

    #[test]
    fn conditions_decide_where_there_are_some() {
        let only = Http::default().with_conditions(Conditions::GATEWAY_ERROR);
        let see = |status| Classify::<_, Infallible>::classify(&only, Ok(&reply(status, &[])));
        assert!(see(503).eligible && !see(500).eligible && !see(200).eligible);
        assert!(Classify::<Response<()>, Infallible>::timed_out(&only).eligible);
    }

    #[test]
    fn a_grpc_status_counts_in_the_head_and_in_the_trailers() {
        let seen = grpc(&[("grpc-status", "14"), ("grpc-retry-pushback-ms", "-1")]);
        assert_eq!((seen.outcome, seen.eligible), (Outcome::Failed, true));
        assert_eq!(seen.pushback, Some(Pushback::Stop));
        assert!(!grpc(&[("grpc-status", "3")]).eligible);
        let pending = grpc(&[]);
        assert!(pending.pending && !pending.eligible && pending.outcome == Outcome::Success);
        let trailers = |status: Option<&'static str>| {
            let head = reply(200, &[]);
            let mut map = head.headers().clone();
            if let Some(status) = status {
                map.insert("grpc-status", HeaderValue::from_static(status));
            }
            Classify::<Response<()>, Infallible>::trailers(&Grpc::default(), Some(&map))
        };
        assert_eq!(trailers(Some("0")), Outcome::Success);
        assert_eq!(trailers(Some("8")), Outcome::Rejected);
        assert_eq!(trailers(None), Outcome::Failed);
        let none = Classify::<Response<()>, Infallible>::trailers(&Grpc::default(), None);
        assert_eq!(none, Outcome::Failed);
    }

    #[test]
    fn errors_are_read_along_their_sources() {
        let see = |error: &Error<std::io::Error>| {
            Classify::<Response<()>, _>::classify(&Http::default(), Err(error))
        };
        let refused = Error::Refused(Refusal::new(Reason::BreakerOpen, 0));
        assert_eq!((see(&refused).outcome, see(&refused).eligible), (Outcome::Rejected, false));
        let io = |kind| Error::Inner(std::io::Error::from(kind));
        let connect = see(&io(std::io::ErrorKind::ConnectionRefused));
        assert_eq!((connect.outcome, connect.before_work), (Outcome::Rejected, true));
        let reset = see(&io(std::io::ErrorKind::ConnectionReset));
        assert_eq!((reset.outcome, reset.before_work), (Outcome::Failed, false));
        let over = Error::TimedOut(TimedOut { class: 0, attempts: 1, deadline: true });
        assert!(!see(&over).eligible);
    }
}

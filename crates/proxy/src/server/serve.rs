//! One request: from its head to the head of its reply.

use std::sync::Arc;
use std::time::Duration;

use damper_control::conditions::{GrpcStatus, Reply as Ended};
use damper_control::{Nanos, Outcome, Reason};
use damper_system::sidecar::Limits;
use damper_tower::{Classify as _, Error, Idempotent, Identify as _, Refusal, clock, headers};
use http::header::{CONNECTION, HeaderName};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use tower_service::Service as _;

use super::connection::Peer;
use super::{form, hygiene, tunnel};
use crate::body::Inflow;
use crate::meters::{Overall, is_retry};
use crate::observe::{Kind, Line, Log};
use crate::outflow::{self, Outflow};
use crate::stack::{Route, RouteWay};
use crate::upstream::{Fault, Tried};

/// Says that the callee tells repetitions of a request from another request.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Answers a request of a caller.
pub(crate) async fn serve(
    route: Arc<Route>,
    peer: &Arc<Peer>,
    mut request: Request<Incoming>,
) -> Response<Outflow> {
    let now = clock::now();
    let controls = &*route.controls;
    let listener = &controls.listener;
    let meters = controls.hop.meters();
    let rank = controls.rank.as_ref();
    if !listener.trust.believes(peer.address.ip()) && hygiene::distrust(request.headers_mut(), rank)
    {
        meters.count(Overall::Distrusted);
    }
    let mut who = controls.identify.who(&request);
    if let Some(rank) = rank {
        hygiene::pass_on(request.headers_mut(), rank, &mut who, now);
    }
    let told = headers::time_left(request.headers()).map(|left| now + left);
    let bound = listener.timeout.map(|timeout| now + timeout);
    let deadline = match (told, bound) {
        (Some(told), Some(bound)) => Some(told.min(bound)),
        (told, bound) => told.or(bound),
    };
    let again = is_retry(request.headers());
    let measured = meters.traced(now, who.class, again, request.headers_mut());
    let grpc = headers::is_grpc(request.headers());

    if let Some(response) = malformed(&request, &listener.limits, grpc) {
        meters.count(Overall::Malformed);
        measured.end(clock::now(), Outcome::Failed, deadline);
        return response;
    }
    let upgrade = request.version() != Version::HTTP_2 && hygiene::asks_upgrade(request.headers());
    let caller = upgrade.then(|| hyper::upgrade::on(&mut request));
    hygiene::strip(request.headers_mut(), upgrade);
    let request = request.map(|body| {
        let mut body = inflow(body, &listener.limits, grpc);
        (body.who, body.deadline, body.came) = (who, deadline, now);
        body
    });
    if request.body().is_too_large() {
        meters.count(Overall::Malformed);
        measured.end(clock::now(), Outcome::Failed, deadline);
        return outflow::own(
            StatusCode::PAYLOAD_TOO_LARGE,
            grpc.then_some(GrpcStatus::ResourceExhausted),
        );
    }

    let (mut response, outcome) = match &route.way {
        RouteWay::Inbound { service, word, .. } => {
            let mut service = service.clone();
            let call = service.call(request);
            let result = within(now, deadline, call).await;
            let result = match result {
                None => Err(Error::TimedOut(late(who.class))),
                Some(result) => result.map_err(Error::flatten),
            };
            let (mut response, outcome) = finish(&route, result, grpc, Outflow::Inbound);
            if let Some(word) = word {
                word.write(response.headers_mut());
            }
            (response, outcome)
        }
        RouteWay::Outbound { service, .. } => {
            let mut service = (**service).clone();
            let mut request = request;
            if request.headers().contains_key(IDEMPOTENCY_KEY) {
                request.extensions_mut().insert(Idempotent(true));
            }
            if route.has_choice() {
                request.extensions_mut().insert(Tried::default());
            }
            let result = service.call(request).await;
            let result = result.map_err(|e| e.flatten().flatten().flatten().flatten());
            finish(&route, result, grpc, |body| Outflow::Outbound(Box::new(body)))
        }
    };
    measured.end(clock::now(), outcome, deadline);
    let idle = clock::duration(listener.limits.idle);
    let joined = tunnel::join(caller, &mut response, peer.clone(), idle);
    hygiene::strip_reply(response.headers_mut(), joined);
    // Each side has a version of its own: one that speaks HTTP/1.0 must not end the other's
    // connection.
    *response.version_mut() = Version::HTTP_11;
    if !joined && response.status() == StatusCode::SWITCHING_PROTOCOLS {
        // Nobody asked for it.
        return outflow::own(StatusCode::BAD_GATEWAY, None);
    }
    response
}

/// The answer to a request for which a listener has no room: it is looked at no further, and what it
/// sends is not read.
pub(crate) fn no_room(route: &Route, request: &Request<Incoming>) -> Response<Outflow> {
    route.controls.hop.meters().count(Overall::RefusedRequests);
    let refusal = Refusal::new(Reason::ConcurrencyLimited, 0);
    let mut response = outflow::refused(&refusal, headers::is_grpc(request.headers()));
    if request.version() != Version::HTTP_2 && !request.body().is_end_stream() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A body within the limits of its listener.
fn inflow(body: Incoming, limits: &Limits, grpc: bool) -> Inflow {
    // The messages of a stream may be small and far between.
    let least = if grpc { 1 } else { Inflow::LEAST };
    Inflow::new(body, limits.body, clock::duration(limits.body_timeout), least)
}

/// What is answered at once because of its form. What follows on the connection may be part of it.
fn malformed(
    request: &Request<Incoming>,
    limits: &Limits,
    grpc: bool,
) -> Option<Response<Outflow>> {
    // Over HTTP/1.1 they are counted before this; over HTTP/2 only their bytes are.
    let many = request.headers().len() > limits.headers as usize;
    let (status, code) = if many {
        (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, GrpcStatus::ResourceExhausted)
    } else {
        (form::refuses(request)?, GrpcStatus::Unimplemented)
    };
    let mut response = outflow::own(status, grpc.then_some(code));
    if request.version() != Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Some(response)
}

fn late(class: u8) -> damper_tower::TimedOut {
    damper_tower::TimedOut { class, attempts: 1, deadline: true }
}

/// `None`: the deadline came first.
async fn within<F: Future>(now: Nanos, deadline: Option<Nanos>, future: F) -> Option<F::Output> {
    match deadline {
        None => Some(future.await),
        Some(deadline) => {
            let left: Duration = clock::duration(deadline.since(now));
            tokio::time::timeout(left, future).await.ok()
        }
    }
}

/// The reply of a call, and how the call ended.
fn finish<B>(
    route: &Route,
    result: Result<Response<B>, Error<Fault>>,
    grpc: bool,
    wrap: impl FnOnce(B) -> Outflow,
) -> (Response<Outflow>, Outcome) {
    match result {
        Ok(response) => {
            let end: Result<&Response<B>, &Fault> = Ok(&response);
            let outcome = route.controls.reads.classify(end).outcome;
            (response.map(wrap), outcome)
        }
        Err(error) => {
            let outcome = match &error {
                Error::Refused(refusal) => refusal.outcome(),
                Error::TimedOut(_) => Outcome::TimedOut,
                Error::Inner(fault) => Ended::Lost(fault.lost()).outcome(),
            };
            if let Some(log) = &route.controls.log {
                tell(log, route, &error);
            }
            (outflow::failed(&error, grpc), outcome)
        }
    }
}

/// Logs a call that has no reply of its callee: at most one line a second for each kind.
fn tell(log: &Log, route: &Route, error: &Error<Fault>) {
    let (kind, message) = match error {
        Error::Refused(_) => (Kind::Refused, "refused"),
        Error::TimedOut(_) => (Kind::Timeout, "no reply in time"),
        Error::Inner(Fault::Body(_)) => (Kind::Malformed, "the request ended early"),
        Error::Inner(_) => (Kind::Upstream, "no reply"),
    };
    log.write(kind, || Line {
        hop: Some(route.controls.hop.name()),
        message,
        error: Some(error),
        ..Line::default()
    });
}

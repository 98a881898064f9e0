//! What goes over the wire: paths, headers, and how an end of an attempt is written as a status.

use bytes::Bytes;
use damper_control::Outcome;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde::{Deserialize, Serialize};

/// The priority class of a request, by name.
pub const CLASS: HeaderName = HeaderName::from_static("x-damper-class");
/// How an attempt ended, from the server itself: what a proxy says has no such header.
pub const END: HeaderName = HeaderName::from_static("x-damper-end");
/// What was behind the first failure, handed up unchanged.
pub const CAUSE: HeaderName = HeaderName::from_static("x-damper-cause");
/// The number of the attempt, from 1; Envoy's name, so that one reader serves both.
pub const ATTEMPT: HeaderName = HeaderName::from_static("x-envoy-attempt-count");

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
/// An empty message: not compressed, no bytes.
const NOTHING: &[u8] = &[0; 5];

/// Bodies of requests and replies.
pub type Body = BoxBody<Bytes, std::convert::Infallible>;

/// What callers and servers speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 without TLS.
    Http2,
    /// gRPC over HTTP/2: the end of an attempt is its status.
    Grpc,
}

impl Protocol {
    /// Whether it is HTTP/2.
    #[must_use]
    pub const fn is_http2(self) -> bool {
        !matches!(self, Self::Http1)
    }
}

/// An end of an attempt in words and numbers.
struct Row {
    outcome: Outcome,
    name: &'static str,
    status: StatusCode,
    /// The code of gRPC: OK, UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL, ABORTED,
    /// RESOURCE_EXHAUSTED.
    grpc: &'static str,
}

/// One status for each end, so that a proxy's conditions can tell them apart.
const ROWS: [Row; 6] = [
    row(Outcome::Success, "success", StatusCode::OK, "0"),
    row(Outcome::Rejected, "rejected", StatusCode::SERVICE_UNAVAILABLE, "14"),
    row(Outcome::TimedOut, "timeout", StatusCode::GATEWAY_TIMEOUT, "4"),
    row(Outcome::Failed, "failed", StatusCode::INTERNAL_SERVER_ERROR, "13"),
    row(Outcome::FailedBelow, "downstream", StatusCode::BAD_GATEWAY, "10"),
    row(Outcome::Shed, "shed", StatusCode::TOO_MANY_REQUESTS, "8"),
];

const fn row(outcome: Outcome, name: &'static str, status: StatusCode, grpc: &'static str) -> Row {
    Row { outcome, name, status, grpc }
}

fn row_of(outcome: Outcome) -> &'static Row {
    ROWS.iter().find(|row| row.outcome == outcome).unwrap_or(&ROWS[3])
}

/// An end as the system file names it; `success` if it went well.
#[must_use]
pub fn name(outcome: Outcome) -> &'static str {
    row_of(outcome).name
}

/// The HTTP status of an end.
#[must_use]
pub fn status(outcome: Outcome) -> StatusCode {
    row_of(outcome).status
}

/// The status code of gRPC of an end.
#[must_use]
pub fn grpc_status(outcome: Outcome) -> &'static str {
    row_of(outcome).grpc
}

/// A request to `host` for `path`.
///
/// # Errors
/// The host or the path cannot be part of a URI.
pub fn request(
    protocol: Protocol,
    host: &str,
    path: &str,
    class: &HeaderValue,
) -> Result<Request<Body>, hyper::http::Error> {
    let uri = Uri::builder().scheme("http").authority(host).path_and_query(path).build()?;
    let mut request = Request::builder().uri(uri).header(CLASS, class);
    let body = if protocol == Protocol::Grpc {
        request = request
            .method(Method::POST)
            .header(CONTENT_TYPE, GRPC)
            .header(TE, HeaderValue::from_static("trailers"));
        Full::new(Bytes::from_static(NOTHING)).boxed()
    } else {
        Empty::new().boxed()
    };
    let mut request = request.body(body)?;
    if protocol.is_http2() {
        *request.version_mut() = hyper::Version::HTTP_2;
    }
    Ok(request)
}

/// The reply of a server: how the attempt ended, and what was behind it.
///
/// A gRPC failure is a reply of trailers only, as servers send it that have no message: proxies
/// see its status with the headers.
#[must_use]
pub fn reply(protocol: Protocol, outcome: Outcome, cause: Outcome) -> Response<Body> {
    let row = row_of(outcome);
    let mut response = Response::new(Empty::new().boxed());
    let grpc = protocol == Protocol::Grpc;
    if grpc {
        response.headers_mut().insert(CONTENT_TYPE, GRPC);
        if outcome == Outcome::Success {
            let mut trailers = HeaderMap::new();
            trailers.insert(GRPC_STATUS, HeaderValue::from_static(row.grpc));
            let message = Full::new(Bytes::from_static(NOTHING));
            *response.body_mut() =
                message.with_trailers(std::future::ready(Some(Ok(trailers)))).boxed();
        } else {
            response.headers_mut().insert(GRPC_STATUS, HeaderValue::from_static(row.grpc));
        }
    } else {
        *response.status_mut() = row.status;
    }
    response.headers_mut().insert(END, HeaderValue::from_static(row.name));
    if outcome != Outcome::Success {
        response.headers_mut().insert(CAUSE, HeaderValue::from_static(row_of(cause).name));
    }
    response
}

/// How an attempt ended, and what was behind it, from the reply.
#[must_use]
pub fn read(status: StatusCode, headers: &HeaderMap) -> (Outcome, Outcome) {
    let named = |name: HeaderName| {
        let value = headers.get(name)?;
        ROWS.iter().find(|row| value == row.name).map(|row| row.outcome)
    };
    let outcome = named(END).unwrap_or_else(|| by_proxy(status, headers));
    (outcome, named(CAUSE).unwrap_or(outcome))
}

/// What a proxy says without the server: it waited too long, or it found nobody.
fn by_proxy(status: StatusCode, headers: &HeaderMap) -> Outcome {
    let waited = headers
        .get(GRPC_MESSAGE)
        .is_some_and(|message| message.as_bytes().windows(7).any(|word| word == b"timeout"));
    let grpc = headers.get(GRPC_STATUS);
    match status {
        StatusCode::GATEWAY_TIMEOUT => Outcome::TimedOut,
        _ if waited || grpc.is_some_and(|code| code == "4") => Outcome::TimedOut,
        StatusCode::OK if grpc.is_none_or(|code| code == "0") => Outcome::Success,
        _ => Outcome::Failed,
    }
}

/// The number of an attempt, from 1.
#[must_use]
pub fn attempt(headers: &HeaderMap) -> u32 {
    let text = headers.get(ATTEMPT).and_then(|value| value.to_str().ok());
    text.and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

/// A class as the value of its header. Names are letters, digits, `-`, `_` and `.`, which any
/// header can hold.
#[must_use]
pub fn class_value(class: &str) -> HeaderValue {
    HeaderValue::from_str(class).unwrap_or(HeaderValue::from_static("default"))
}

/// The path of a call: its number in the table of calls.
#[must_use]
pub fn call_path(node: usize) -> String {
    format!("/call/{node}")
}

/// The number of the call in a path.
#[must_use]
pub fn call_of(path: &str) -> Option<usize> {
    path.strip_prefix("/call/")?.parse().ok()
}

/// The path at which clients ask for a request of a type; without one the type is drawn.
#[must_use]
pub fn request_path(kind: Option<&str>) -> String {
    kind.map_or_else(|| "/request".to_owned(), |kind| format!("/request/{kind}"))
}

/// The type of request in a path; `Some(None)`: to be drawn.
#[must_use]
pub fn request_of(path: &str) -> Option<Option<&str>> {
    match path.strip_prefix("/request")? {
        "" | "/" => Some(None),
        rest => rest.strip_prefix('/').map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_as_it_was_written() {
        for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Grpc] {
            for outcome in Outcome::ALL {
                let cause = if outcome == Outcome::Success { outcome } else { Outcome::Shed };
                let reply = reply(protocol, outcome, cause);
                assert_eq!(read(reply.status(), reply.headers()), (outcome, cause));
                let ok = reply.status() == StatusCode::OK;
                assert_eq!(ok, protocol == Protocol::Grpc || outcome == Outcome::Success);
            }
        }
    }

    #[test]
    fn every_end_has_a_status_of_its_own() {
        for (i, a) in ROWS.iter().enumerate() {
            for b in &ROWS[..i] {
                assert!(a.status != b.status && a.grpc != b.grpc && a.name != b.name);
            }
        }
    }

    #[test]
    fn what_a_proxy_says_is_no_rejection() {
        let mut headers = HeaderMap::new();
        assert_eq!(read(StatusCode::SERVICE_UNAVAILABLE, &headers).0, Outcome::Failed);
        assert_eq!(read(StatusCode::GATEWAY_TIMEOUT, &headers).0, Outcome::TimedOut);
        headers.insert(GRPC_STATUS, HeaderValue::from_static("14"));
        assert_eq!(read(StatusCode::OK, &headers).0, Outcome::Failed);
        headers.insert(GRPC_MESSAGE, HeaderValue::from_static("upstream request timeout"));
        assert_eq!(read(StatusCode::OK, &headers).0, Outcome::TimedOut);
    }

    #[test]
    fn paths() {
        assert_eq!(call_of(&call_path(17)), Some(17));
        assert_eq!(call_of("/call/x"), None);
        assert_eq!(request_of(&request_path(Some("search"))), Some(Some("search")));
        assert_eq!(request_of(&request_path(None)), Some(None));
        assert_eq!(request_of("/call/1"), None);
    }
}

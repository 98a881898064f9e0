//! Requests by hyper: HTTP/2 and gRPC.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::end::{AttemptEnd, Ended, Said, of_grpc, of_status};
use super::grpc::{Frames, frame};
use super::request::Prepared;
use super::target::{Protocol, Target};
use super::tls::{Stream, Tls};

type Pool = legacy::Client<Connector, Full<Bytes>>;

/// Connects to one address, whatever a URI says.
#[derive(Clone)]
struct Connector(Target, Option<Tls>);

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = std::io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self(target, tls) = self.clone();
        Box::pin(async move { Ok(TokioIo::new(Stream::open(target, tls.as_ref()).await?)) })
    }
}

/// Clients of one target: one for each connection of HTTP/2, whose requests share it.
#[derive(Clone)]
pub(super) struct Clients {
    pools: Vec<Pool>,
    target: Target,
    tls: bool,
}

impl Clients {
    pub(super) fn new(target: Target, tls: Option<&Tls>, connections: usize) -> Self {
        let http2 = target.protocol().is_http2();
        let pool = || {
            legacy::Client::builder(TokioExecutor::new())
                .http2_only(http2)
                .build(Connector(target, tls.cloned()))
        };
        let count = if http2 { connections.max(1) } else { 1 };
        Self { pools: (0..count).map(|_| pool()).collect(), target, tls: tls.is_some() }
    }

    /// Sends the `number`th request.
    pub(super) async fn send(&self, prepared: &Prepared, number: u64) -> Ended {
        let Some(request) = request(self.target, self.tls, prepared, number) else {
            return AttemptEnd::Failed.into();
        };
        let Some(pool) = self.pools.get(number as usize % self.pools.len()) else {
            return AttemptEnd::Connection.into();
        };
        let Ok(response) = pool.request(request).await else {
            return AttemptEnd::Connection.into();
        };
        let (status, mut headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = response.into_body();
        let mut frames = Frames::default();
        // The body is thrown away as it comes; only what stands behind it is kept.
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return AttemptEnd::Connection.into() };
            match frame.into_data() {
                Ok(data) if self.target.protocol() == Protocol::Grpc => frames.read(&data),
                Ok(_) => {}
                Err(frame) => headers.extend(frame.into_trailers().unwrap_or_default()),
            }
        }
        let mut ended = end(self.target.protocol(), status, &headers, prepared);
        match frames.whole() {
            Some(received) => ended.received = received,
            // Whatever its status says, a reply that stops within a message is none.
            None if ended.end == AttemptEnd::Ok => ended.end = AttemptEnd::Failed,
            None => {}
        }
        ended
    }
}

fn request(
    target: Target,
    tls: bool,
    prepared: &Prepared,
    number: u64,
) -> Option<Request<Full<Bytes>>> {
    let grpc = target.protocol() == Protocol::Grpc;
    let filled = prepared.parts(number, tls)?;
    let is_bare = grpc && !prepared.is_message();
    let body = if is_bare { message(&filled.body)? } else { filled.body };
    let mut request = Request::new(Full::new(body));
    *request.uri_mut() = filled.uri;
    *request.method_mut() = filled.method;
    let headers = request.headers_mut();
    for (name, value) in filled.headers {
        headers.insert(name, value);
    }
    if grpc {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        *request.method_mut() = Method::POST;
    }
    if target.protocol().is_http2() {
        *request.version_mut() = hyper::Version::HTTP_2;
    }
    Some(request)
}

/// A message of gRPC as it is sent.
pub(super) fn message(body: &[u8]) -> Option<Bytes> {
    let mut wire = Vec::new();
    frame(body, &mut wire)?;
    Some(wire.into())
}

fn end(protocol: Protocol, status: u16, headers: &HeaderMap, prepared: &Prepared) -> Ended {
    let mut said = Said::default();
    for (name, value) in headers {
        said.header(name.as_str(), value.as_bytes());
    }
    let end = match protocol {
        Protocol::Grpc if status == 200 => {
            of_grpc(headers.get("grpc-status").map(HeaderValue::as_bytes))
        }
        Protocol::Grpc => of_status(status, &[]),
        _ => of_status(status, prepared.expect()),
    };
    said.with(end)
}

#[cfg(test)]
mod tests {
    use super::super::request::Request as Asked;
    use super::*;

    #[test]
    fn a_reply_of_grpc_needs_a_status_of_its_own() {
        let prepared = Prepared::new(Asked::get("/"), "x:1", "", 0).unwrap();
        let of = |code: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(code) = code {
                headers.insert("grpc-status", HeaderValue::from_static(code));
            }
            end(Protocol::Grpc, 200, &headers, &prepared).end
        };
        assert_eq!([of(Some("0")), of(Some("14"))], [AttemptEnd::Ok, AttemptEnd::Rejected]);
        assert_eq!(of(None), AttemptEnd::Failed);
        assert_eq!(message(b"ab").unwrap().as_ref(), [0, 0, 0, 0, 2, b'a', b'b']);
    }
}

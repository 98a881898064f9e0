//! One attempt: an endpoint, a connection, the request, the head of the reply.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use damper_control::conditions::{GrpcStatus, is_idempotent};
use damper_system::sidecar::Protocol;
use damper_tower::{clock, headers};
use http::header::{CONTENT_LENGTH, HOST, HeaderValue, TE, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use tower_service::Service;

use super::Fault;
use super::cluster::{Cluster, Ticket, Verdict};
use super::reply::{Lease, Reply};
use crate::body::BodyError;
use crate::meters::Overall;

/// The endpoints that a call has tried, as an extension that its attempts share.
#[derive(Clone, Debug, Default)]
pub struct Tried(Arc<AtomicU64>);

/// What a tunnel holds until its end, as an extension of the reply that begins it.
#[derive(Clone)]
pub(crate) struct Kept(
    #[expect(dead_code, reason = "it is there to be dropped")] Arc<dyn Send + Sync>,
);

/// Sends requests to the endpoints of a cluster.
#[derive(Debug)]
pub struct Forward<B>(Arc<Cluster<B>>);

impl<B> Clone for Forward<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B> Forward<B> {
    /// To this cluster.
    #[must_use]
    pub fn new(cluster: Arc<Cluster<B>>) -> Self {
        Self(cluster)
    }
}

/// What the bodies of requests are.
pub trait Sendable:
    Body<Data = Bytes, Error = BodyError> + Default + Send + Unpin + 'static
{
}

impl<B: Body<Data = Bytes, Error = BodyError> + Default + Send + Unpin + 'static> Sendable for B {}

impl<B: Sendable> Service<Request<B>> for Forward<B> {
    type Response = Response<Reply<B>>;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Reply<B>>, Fault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(attempt(self.0.clone(), request))
    }
}

async fn attempt<B: Sendable>(
    cluster: Arc<Cluster<B>>,
    mut request: Request<B>,
) -> Result<Response<Reply<B>>, Fault> {
    let now = clock::now();
    let tried = request.extensions().get::<Tried>().map(|tried| tried.0.clone());
    let before = tried.as_ref().map_or(0, |tried| tried.load(Ordering::Relaxed));
    let mut ticket = cluster.pick(before, now).ok_or(Fault::NoEndpoint)?;
    if let Some(tried) = tried {
        tried.fetch_or(ticket.bit(), Ordering::Relaxed);
    }
    let many = match cluster.protocol {
        Protocol::AsCaller => request.version() == Version::HTTP_2,
        Protocol::Http1 => false,
        Protocol::Http2 => true,
    };
    let sent = if many {
        shape_http2(&mut request, ticket.address, cluster.connector.has_tls());
        over_many(&cluster, &mut ticket, request).await.map(|response| (response, None))
    } else {
        shape_http1(&mut request, ticket.address);
        over_one(&cluster, &ticket, request).await
    };
    let now = clock::now();
    match sent {
        Ok((mut response, one)) => {
            if response.status() == StatusCode::SWITCHING_PROTOCOLS
                && let Some(place) = cluster.tunnel(&ticket)
            {
                response.extensions_mut().insert(Kept(Arc::new(place)));
            }
            if let Some(level) = headers::level(response.headers()) {
                cluster.saturated.told().hear(now, level);
            }
            let (verdict, refused) = judge(&response);
            ticket.saw(now, verdict, refused);
            Ok(response.map(|body| Reply::new(body, Lease::new(ticket, one))))
        }
        Err(fault) => {
            ticket.saw(now, Verdict::Refused, fault.is_refusal());
            Err(fault)
        }
    }
}

/// What a reply says of its endpoint, and whether it was a refusal.
fn judge(response: &Response<Incoming>) -> (Verdict, bool) {
    let map = response.headers();
    let status = response.status().as_u16();
    let refused = matches!(status, 429 | 503)
        || map.contains_key(headers::GRPC_STATUS)
            && matches!(headers::status_of(map).map(GrpcStatus::code), Some(8 | 14));
    if headers::says_overloaded(map) {
        (Verdict::Overloaded, refused)
    } else if refused {
        (Verdict::Refused, true)
    } else {
        (Verdict::Answered, false)
    }
}

type One<B> = (hyper::client::conn::http1::SendRequest<B>, damper_control::Nanos);

/// Over a connection that carries one request at a time.
async fn over_one<B: Sendable>(
    cluster: &Arc<Cluster<B>>,
    ticket: &Ticket<B>,
    mut request: Request<B>,
) -> Result<(Response<Incoming>, Option<One<B>>), Fault> {
    // A connection that its other side has closed meanwhile is found out by writing to it.
    let mut fresh = false;
    loop {
        let idle = if fresh { None } else { cluster.one(ticket, clock::now()) };
        let reused = idle.is_some();
        let (mut sender, born) = match idle {
            Some(one) => one,
            None => {
                let room = cluster.reserve(ticket).ok_or(Fault::Full)?;
                let made = cluster.connector.http1(ticket.address, room).await;
                (counted(cluster, made)?, clock::now())
            }
        };
        if reused {
            cluster.meters.count(Overall::Reused);
        }
        // What may be sent twice if the other side was about to close.
        let spare = if reused { copy(&request) } else { None };
        match sender.try_send_request(request).await {
            Ok(response) => return Ok((response, Some((sender, born)))),
            Err(mut error) => match (error.take_message(), spare) {
                // Nothing of it was written: that is safe for every request.
                (Some(back), _) if reused => request = back,
                (None, Some(spare)) if closed(error.error()) => {
                    // No policy counts it, so that at least this does.
                    cluster.meters.count(Overall::Resent);
                    request = spare;
                    fresh = true;
                }
                (back, _) => return Err(Fault::by(error.into_error(), back.is_none())),
            },
        }
    }
}

/// Counts a connection that was made, or could not be.
fn counted<B, T>(cluster: &Cluster<B>, made: Result<T, Fault>) -> Result<T, Fault> {
    let what = if made.is_ok() { Overall::Connected } else { Overall::ConnectFailed };
    cluster.meters.count(what);
    made
}

/// Whether the other side closed the connection before it said anything, as one does that was idle
/// for too long. Whoever answers with nonsense has had the request.
fn closed(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    if error.is_incomplete_message() {
        return true;
    }
    let mut next = std::error::Error::source(error);
    while let Some(why) = next {
        if let Some(io) = why.downcast_ref::<std::io::Error>() {
            return matches!(io.kind(), BrokenPipe | ConnectionReset);
        }
        next = why.source();
    }
    false
}

/// A request that may be sent twice and has no body.
fn copy<B: Sendable>(request: &Request<B>) -> Option<Request<B>> {
    if !request.body().is_end_stream() || !is_idempotent(request.method().as_str()) {
        return None;
    }
    let mut copy = Request::new(B::default());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// Over a connection that many requests share.
async fn over_many<B: Sendable>(
    cluster: &Arc<Cluster<B>>,
    ticket: &mut Ticket<B>,
    mut request: Request<B>,
) -> Result<Response<Incoming>, Fault> {
    /// Connections that close before they are written to, one after the other.
    const AGAIN: u32 = 3;
    for last in (0..AGAIN).map(|n| n + 1 == AGAIN) {
        let mut sender = match cluster.many(ticket, clock::now()) {
            Some(sender) => {
                cluster.meters.count(Overall::Reused);
                sender
            }
            None => share(cluster, ticket).await?,
        };
        match sender.try_send_request(request).await {
            Ok(response) => return Ok(response),
            Err(mut error) => match error.take_message() {
                Some(back) if !last => request = back,
                back => return Err(Fault::by(error.into_error(), back.is_none())),
            },
        }
    }
    Err(Fault::NoEndpoint)
}

/// Makes a connection, or waits for the one that another request makes.
async fn share<B: Sendable>(
    cluster: &Arc<Cluster<B>>,
    ticket: &mut Ticket<B>,
) -> Result<hyper::client::conn::http2::SendRequest<B>, Fault> {
    let came = clock::now();
    let gate = cluster.gate(ticket).ok_or(Fault::NoEndpoint)?;
    let _held = gate.lock().await;
    if let Some(sender) = cluster.many(ticket, clock::now()) {
        cluster.meters.count(Overall::Reused);
        return Ok(sender);
    }
    if cluster.failed_since(ticket, came) {
        // The one that it waited for failed: to try again one after the other would take for ever.
        return Err(Fault::ConnectTimeout);
    }
    let room = cluster.reserve(ticket).ok_or(Fault::Full)?;
    let made = cluster.connector.http2(ticket.address, room).await;
    match counted(cluster, made) {
        Ok(sender) => {
            cluster.add(ticket, sender.clone(), clock::now());
            Ok(sender)
        }
        Err(fault) => {
            cluster.failed(ticket, clock::now());
            Err(fault)
        }
    }
}

/// As HTTP/1.1 has it: the path in the first line, the authority in `Host`.
fn shape_http1<B: Body>(request: &mut Request<B>, endpoint: std::net::SocketAddr) {
    *request.version_mut() = Version::HTTP_11;
    let open = !request.body().is_end_stream();
    if !open {
        request.headers_mut().remove(TRANSFER_ENCODING);
    } else if !request.headers().contains_key(CONTENT_LENGTH) {
        // Without it hyper takes a GET to have no body.
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if request.uri().authority().is_some() {
        let uri = std::mem::take(request.uri_mut());
        let mut parts = uri.into_parts();
        if let Some(authority) = parts.authority.take()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            request.headers_mut().insert(HOST, host);
        }
        let path = parts.path_and_query.unwrap_or(PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
    }
    if !request.headers().contains_key(HOST)
        && let Ok(host) = HeaderValue::from_str(&endpoint.to_string())
    {
        request.headers_mut().insert(HOST, host);
    }
}

/// As HTTP/2 has it: scheme and authority with the path.
fn shape_http2<B>(request: &mut Request<B>, endpoint: std::net::SocketAddr, tls: bool) {
    *request.version_mut() = Version::HTTP_2;
    // The only word of it that HTTP/2 knows.
    if request.headers().get(TE).is_some_and(|te| te.as_bytes() != b"trailers") {
        request.headers_mut().remove(TE);
    }
    let host = request.headers_mut().remove(HOST);
    // That of this connection, whatever the caller's was.
    let scheme = if tls { Scheme::HTTPS } else { Scheme::HTTP };
    if request.uri().authority().is_some() && request.uri().scheme() == Some(&scheme) {
        return;
    }
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    if parts.authority.is_none() {
        let told = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
        parts.authority = told.or_else(|| endpoint.to_string().parse().ok());
    }
    parts.scheme = Some(scheme);
    parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

//! The proxy over real sockets of the loopback interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod backend;
mod controls;
mod http2;
mod life;
mod limits;
mod mended;
mod ranks;
mod safety;
mod tls;
mod upstreams;

use std::net::SocketAddr;
use std::path::Path;

use bytes::Bytes;
use damper_proxy::Proxy;
use damper_system::SystemFile;
use damper_system::sidecar::Sidecar;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;

/// Two classes; the edge has three and one retries, and the service two workers.
pub(crate) const SYSTEM: &str = "\
damper: 1
name: shop
classes: [high, low]
services: {front: {}, db: {workers: 2, queue: 2}}
load: {high: 10/s, low: 10/s}
requests: {get: {calls: [{front: [db]}]}}
policies: {\"front -> db\": {timeout: 2s, retry: {limit: {high: 3, low: 1}}}}
";

pub(crate) fn sidecar(config: &str, system: &str) -> Sidecar {
    let read = |_: &Path| SystemFile::parse("system.yaml", system)?.lower();
    Sidecar::parse("proxy.yaml", config, Path::new(""), &read).unwrap_or_else(|p| panic!("{p}"))
}

pub(crate) fn start(config: &str, system: &str) -> Proxy {
    Proxy::start(&sidecar(config, system), Vec::new()).unwrap()
}

/// An inbound hop before `db` at this address, with more lines for the listener.
pub(crate) fn inbound(to: SocketAddr, more: &str) -> String {
    format!(
        "proxy: 1\nsystem: s\nworkers: 2\ninbound:\n  - service: db\n    listen: 127.0.0.1:0\n    upstream: {to}\n{more}"
    )
}

/// An outbound hop for `front -> db` to these addresses.
pub(crate) fn outbound(to: &[SocketAddr], more: &str, upstream: &str) -> String {
    let to: Vec<String> = to.iter().map(|a| format!("'{a}'")).collect();
    format!(
        "proxy: 1\nsystem: s\nworkers: 1\noutbound:\n  - call: front -> db\n    listen: 127.0.0.1:0\n    upstream: {{to: [{}]{upstream}}}\n{more}",
        to.join(", ")
    )
}

pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) version: http::Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A client with one connection.
pub(crate) struct Client(hyper::client::conn::http1::SendRequest<Full<Bytes>>);

impl Client {
    pub(crate) async fn connect(to: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(to).await.unwrap();
        let io = TokioIo::new(stream);
        let (sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        Self(sender)
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Got> {
        self.0.ready().await?;
        let (head, body) = self.0.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Got { status: head.status, version: head.version, headers: head.headers, body })
    }
}

pub(crate) fn request(
    method: Method,
    headers: &[(&'static str, &str)],
    body: &'static str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri("/x?y=1").header("host", "shop");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
}

/// One request over a connection of its own.
pub(crate) async fn send(to: SocketAddr, request: Request<Full<Bytes>>) -> Got {
    Client::connect(to).await.send(request).await.unwrap()
}

pub(crate) async fn get(to: SocketAddr, headers: &[(&'static str, &str)]) -> Got {
    send(to, request(Method::GET, headers, "")).await
}

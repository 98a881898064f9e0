//! Connections to others: a pooled client whose names stand for ports of this machine.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use damper_control::Outcome;
use http_body_util::BodyExt as _;
use hyper::{Request, Uri};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::wire::{self, Body, Protocol};

/// Which port stands for which name; everything is on the loopback interface.
pub(crate) type Ports = Arc<RwLock<BTreeMap<String, u16>>>;

/// Connects to the port that stands for the host of a URI.
#[derive(Clone)]
struct Connector(Ports);

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = std::io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let ports = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let port = uri.host().and_then(|host| ports.get(host)).copied();
        Box::pin(async move {
            let unknown = || std::io::Error::new(std::io::ErrorKind::NotFound, "no such peer");
            let port = port.ok_or_else(unknown)?;
            let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
            stream.set_nodelay(true)?;
            Ok(TokioIo::new(stream))
        })
    }
}

/// What came back: how it ended, what was behind it, and in how many attempts as a proxy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) cause: Outcome,
    pub(crate) attempts: u32,
}

/// A client.
#[derive(Clone)]
pub(crate) struct Client(legacy::Client<Connector, Body>);

impl Client {
    pub(crate) fn new(protocol: Protocol, ports: &Ports) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .http2_only(protocol.is_http2())
            .build(Connector(ports.clone()));
        Self(client)
    }

    /// Sends a request and reads the reply to its end.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let failed = Answer { outcome: Outcome::Failed, cause: Outcome::Failed, attempts: 1 };
        let Ok(response) = self.0.request(request).await else { return failed };
        let (outcome, cause) = wire::read(response.status(), response.headers());
        let attempts = wire::attempt(response.headers());
        let Ok(body) = response.into_body().collect().await else {
            return Answer { attempts, ..failed };
        };
        let bad = |trailers| wire::read(hyper::StatusCode::OK, trailers).0 != Outcome::Success;
        if outcome == Outcome::Success && body.trailers().is_some_and(bad) {
            return Answer { attempts, ..failed };
        }
        Answer { outcome, cause, attempts }
    }
}

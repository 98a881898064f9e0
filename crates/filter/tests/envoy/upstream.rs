//! A small server that answers as a test says, and remembers what it was asked.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

use crate::{Client, Protocol};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16, Vec<(&'static str, &'static str)>),
    /// An answer of gRPC in its headers alone.
    Grpc(u8, Vec<(&'static str, &'static str)>),
    /// The connection is cut (HTTP/1.1), or the stream reset (HTTP/2).
    Reset,
    /// No answer for so long.
    Late(Duration),
    /// As an application: calls this port with the request's `traceparent` alone.
    Call(u16),
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("-", |value| value.to_str().unwrap_or("?"))
    }
}

type Behaviour = Arc<dyn Fn(&Seen) -> Answer + Send + Sync>;

pub(crate) struct Upstream {
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    /// Listens on a port of its own.
    pub(crate) async fn start(
        protocol: Protocol,
        behaviour: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(accept(listener, protocol, Arc::new(behaviour), Arc::clone(&seen)));
        Self { port, protocol, seen }
    }

    /// One that always fails in the way of its protocol.
    pub(crate) async fn failing(protocol: Protocol) -> Self {
        Self::start(protocol, move |_| match protocol {
            Protocol::Grpc => Answer::Grpc(14, vec![]),
            _ => Answer::Status(503, vec![]),
        })
        .await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    /// Requests that came, by class.
    pub(crate) fn by_class(&self) -> BTreeMap<String, usize> {
        let mut all = BTreeMap::new();
        for seen in self.seen() {
            *all.entry(seen.header("x-damper-class").to_owned()).or_default() += 1;
        }
        all
    }

    pub(crate) fn forget(&self) {
        self.seen.lock().expect("no panic").clear();
    }
}

async fn accept(
    listener: TcpListener,
    protocol: Protocol,
    behaviour: Behaviour,
    all: Arc<Mutex<Vec<Seen>>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (behaviour, all) = (Arc::clone(&behaviour), Arc::clone(&all));
        tokio::spawn(async move {
            let serve = service_fn(|request: Request<Incoming>| {
                let (behaviour, all) = (Arc::clone(&behaviour), Arc::clone(&all));
                async move {
                    let seen = Seen {
                        path: request.uri().path().to_owned(),
                        headers: request.headers().clone(),
                    };
                    let answer = behaviour(&seen);
                    let trace = seen.header("traceparent").to_owned();
                    all.lock().expect("no panic").push(seen);
                    reply(answer, &trace).await
                }
            });
            let io = TokioIo::new(stream);
            // A client that goes away is no failure of the test.
            let _ = if protocol.is_http2() {
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(io, serve)
                    .await
            } else {
                hyper::server::conn::http1::Builder::new().serve_connection(io, serve).await
            };
        });
    }
}

async fn reply(answer: Answer, trace: &str) -> Result<Response<Full<Bytes>>, io::Error> {
    let (status, headers) = match answer {
        Answer::Status(status, headers) => (status, headers),
        Answer::Grpc(status, mut headers) => {
            let codes =
                ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"];
            headers.push(("content-type", "application/grpc"));
            headers.push(("grpc-status", codes[usize::from(status)]));
            (200, headers)
        }
        Answer::Reset => return Err(io::Error::other("reset")),
        Answer::Late(time) => {
            tokio::time::sleep(time).await;
            (200, vec![])
        }
        Answer::Call(port) => {
            let mut client = Client::connect(port, false).await;
            let got = client.get("/from-the-application", &[("traceparent", trace)]).await;
            (got.status, vec![])
        }
    };
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Full::new(Bytes::new())).map_err(io::Error::other)
}

//! A service to stand behind the proxy: it does what a test tells it, and counts.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Backend {
    /// Answers each request, of which it knows the number, like this.
    pub(crate) async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(usize, Request<Incoming>) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, connections) =
            (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let answer = Arc::new(answer);
        let (seen, opened) = (requests.clone(), connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                opened.fetch_add(1, Ordering::SeqCst);
                let (answer, seen) = (answer.clone(), seen.clone());
                let service = service_fn(move |request| {
                    let answered = answer(seen.fetch_add(1, Ordering::SeqCst), request);
                    async move { Ok::<_, Infallible>(answered.await) }
                });
                tokio::spawn(async move {
                    let builder = auto::Builder::new(TokioExecutor::new());
                    let _ =
                        builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, requests, connections }
    }

    /// The same answer to all.
    pub(crate) async fn always(status: u16) -> Self {
        Self::start(move |_, _| async move { reply(status, "") }).await
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

pub(crate) fn reply(status: u16, body: &str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(body.to_owned())).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Says the headers of the request back, a line for each.
pub(crate) fn echo(request: &Request<Incoming>) -> Answer {
    let lines: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?")))
        .collect();
    reply(200, &lines.join("\n"))
}

/// A body and trailers, as gRPC has them.
pub(crate) fn with_trailers(body: &'static str, trailers: HeaderMap) -> Answer {
    let frames = [
        Ok(hyper::body::Frame::data(Bytes::from_static(body.as_bytes()))),
        Ok(hyper::body::Frame::trailers(trailers)),
    ];
    let mut response = Response::new(StreamBody::new(Frames(frames.into())).boxed());
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    response
}

struct Frames(std::collections::VecDeque<Result<hyper::body::Frame<Bytes>, Infallible>>);

impl futures_core::Stream for Frames {
    type Item = Result<hyper::body::Frame<Bytes>, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}

//! The small server that stands for one service, or for the clients.
//!
//! It does what the service of the system file does: rate limit, queue, workers, service times,
//! failures, and then the calls of its place in the call tree. It knows nothing of Envoy but the
//! port of its sidecar.

mod caller;
mod station;
mod work;

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use damper_control::Outcome;
use damper_system::System;
use damper_system::model::OnAbandon;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::order::{Order, Said, line};
use crate::wire::{self, Body, Protocol};
pub(crate) use work::Server;

/// Whom a server stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The clients: it makes what the call trees say of `client`.
    Client,
    /// A service, by name.
    Service(String),
}

/// How a server works.
#[derive(Clone, Debug)]
pub struct Serve {
    /// Whom it stands for.
    pub role: Role,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether a proxy retries in its place.
    pub proxied: bool,
}

/// Streams that one HTTP/2 connection may have open: the queue of the file is the limit.
const STREAMS: u32 = 1 << 20;

/// Serves until its input ends.
///
/// # Errors
/// There is no such service, no port, or the parent says what cannot be understood.
pub async fn serve(system: System, options: Serve) -> std::io::Result<()> {
    let protocol = options.protocol;
    let server = Arc::new(Server::new(system, &options)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    say(&Said::Ready(listener.local_addr()?.port())).await?;
    let accepting = tokio::spawn({
        let server = server.clone();
        async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(connection(server.clone(), stream, protocol));
                    }
                    // Out of files, most likely: some will be closed soon.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
                }
            }
        }
    });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(text) = lines.next_line().await? {
        let said = match serde_json::from_str(&text)? {
            Order::Peers(ports) => {
                server.set_peers(ports);
                Said::Done
            }
            Order::Condition(condition) => {
                server.set_condition(condition);
                Said::Done
            }
            Order::Lever(pull) => {
                server.pull(&pull);
                Said::Done
            }
            Order::Counts => Said::Counts(server.counts()),
        };
        say(&said).await?;
    }
    accepting.abort();
    Ok(())
}

async fn say(said: &Said) -> std::io::Result<()> {
    let mut out = tokio::io::stdout();
    out.write_all(line(said)?.as_bytes()).await?;
    out.flush().await
}

async fn connection(server: Arc<Server>, stream: TcpStream, protocol: Protocol) {
    // Without this a reply may wait for the acknowledgement of the one before it.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(stream);
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(answer(server, request, protocol).await) }
    });
    // How a connection ends is its caller's affair.
    let _ = if protocol.is_http2() {
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .serve_connection(io, service)
            .await
    } else {
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .serve_connection(io, service)
            .await
    };
}

/// Answers one request. The work goes on in a task of its own: when the caller leaves, this future
/// is dropped, and the service notices as much as the file says.
async fn answer(
    server: Arc<Server>,
    request: Request<Incoming>,
    protocol: Protocol,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let class = server.class(head.headers.get(wire::CLASS));
    let Some(task) = server.task(head.uri.path()) else {
        return wire::reply(protocol, Outcome::Failed, Outcome::Failed);
    };
    if protocol == Protocol::Grpc && body.collect().await.is_err() {
        return wire::reply(protocol, Outcome::Failed, Outcome::Failed);
    }
    server.arrived(class, wire::attempt(&head.headers));
    let gone = Arc::new(AtomicBool::new(false));
    let working = tokio::spawn({
        let (server, gone) = (server.clone(), gone.clone());
        async move { server.work(task, class, &gone).await }
    });
    let cancels = server.on_abandon() == OnAbandon::Cancel;
    let mut watch = Leaving {
        gone,
        cancel: cancels.then(|| working.abort_handle()),
        server: &server,
        class,
        answered: false,
    };
    let (outcome, cause) = working.await.unwrap_or((Outcome::Failed, Outcome::Failed));
    watch.answered = true;
    drop(watch);
    server.ended(class, outcome);
    wire::reply(protocol, outcome, cause)
}

/// Notices that the caller has left.
struct Leaving<'a> {
    gone: Arc<AtomicBool>,
    cancel: Option<AbortHandle>,
    server: &'a Server,
    class: u8,
    answered: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        self.gone.store(true, Ordering::Relaxed);
        self.server.abandoned(self.class);
        if let Some(work) = &self.cancel {
            work.abort();
        }
    }
}

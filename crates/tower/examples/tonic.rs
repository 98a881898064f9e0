//! A tonic server behind a door, and a tonic client that obeys its push-back.
//!
//! The service is written by hand over bytes, so that no compiler for messages is needed.
//!
//! `cargo run -p damper-tower --example tonic`

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes};
use damper_control::admission::RateLimit;
use damper_control::budget::GrpcTokenBucket;
use damper_control::conditions::{GrpcSet, GrpcStatus};
use damper_control::{Backoff, Budget, Jitter, Nanos, Retry, RetryOn};
use damper_tower::retry::Repeat;
use damper_tower::{
    ByHeader, Door, DoorLayer, Event, Grpc, Policy, ReceiveLayer, RespondLayer, RetryLayer,
};
use http::uri::PathAndQuery;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Server, server::TcpIncoming};
use tonic::{Request, Response, Status};
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Messages that are bytes.
#[derive(Clone, Copy, Default)]
struct Plain;

impl Codec for Plain {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Answers with what it was asked.
#[derive(Clone, Copy)]
struct Echo;

impl tonic::server::UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = std::future::Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        std::future::ready(Ok(Response::new(request.into_inner())))
    }
}

impl tonic::server::NamedService for Echo {
    const NAME: &'static str = "example.Echo";
}

type Boxed<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

impl tower::Service<http::Request<tonic::body::Body>> for Echo {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Boxed<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(async move { Ok(tonic::server::Grpc::new(Plain).unary(Echo, request).await) })
    }
}

/// What happens, line by line.
///
/// # Errors
/// The network of this machine does not work.
pub(crate) async fn run() -> Result<Vec<String>, Failure> {
    // Two requests at once, then one in two seconds: the third is refused, and told when to come.
    let rate = RateLimit::try_new(0.5, 2).ok_or("the rate is not possible")?;
    let door =
        DoorLayer::with(Door::new().with_rate_limit(rate), Grpc::default(), ByHeader::default());
    let layers = ServiceBuilder::new()
        .layer(RespondLayer::default().saying(door.word()))
        .layer(ReceiveLayer::default())
        .layer(door.clone())
        .into_inner();
    let incoming = TcpIncoming::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let uri = format!("http://{}", incoming.local_addr()?);
    let server = Server::builder().layer(layers).add_service(Echo).serve_with_incoming(incoming);
    let server = tokio::spawn(server);

    let channel = Channel::from_shared(uri)?.connect().await?;
    let policy = Policy {
        repeat: Repeat::Always,
        timeout: Some(Nanos::from_secs(30)),
        ..Policy::new(Retry {
            limits: [4].into(),
            on: RetryOn::ALL,
            backoff: Backoff::constant(Nanos::from_millis(10), Jitter::Around(20)),
        })
    };
    let codes = GrpcSet::EMPTY.with(GrpcStatus::Unavailable).with(GrpcStatus::ResourceExhausted);
    let budget = GrpcTokenBucket::try_new(100, 0.1).map_or(Budget::NONE, Budget::from);
    let classify = Grpc::default().with_codes(codes);
    let retry = Arc::new(RetryLayer::with(policy, budget, classify, ByHeader::default()));
    // A channel takes its own type of body.
    type Attempt = http::Request<damper_tower::body::Replay<tonic::body::Body>>;
    let channel = channel.map_request(|request: Attempt| request.map(tonic::body::Body::new));
    let mut client = tonic::client::Grpc::new(retry.layer(channel));

    let mut lines = Vec::new();
    for call in 1..=3 {
        client.ready().await?;
        let request = Request::new(Bytes::from_static(b"hello"));
        let path = PathAndQuery::from_static("/example.Echo/Say");
        let reply: Response<Bytes> = client.unary(request, path, Plain).await?;
        lines.push(format!("call {call}: {}", String::from_utf8_lossy(reply.get_ref())));
    }
    let seen = retry.counters().snapshot();
    let refused = door.counters().snapshot().refused();
    lines.push(format!("the door refused some: {}", refused > 0));
    lines.push(format!("each was retried: {}", seen.total(Event::Retry) == refused));
    lines.push(format!("calls {}", seen.total(Event::Request)));
    server.abort();
    Ok(lines)
}

#[tokio::main]
#[allow(clippy::print_stdout, dead_code)] // an example prints; a test runs it without this
async fn main() -> Result<(), Failure> {
    for line in tokio::time::timeout(Duration::from_secs(60), run()).await?? {
        println!("{line}");
    }
    Ok(())
}

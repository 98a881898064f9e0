//! One run: a client with the policy of an edge, a server with its door, and what disturbs them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use damper_system::SystemFile;
use damper_tower::body::Replay;
use damper_tower::system::{Calls, Serves};
use damper_tower::{Class, Error, Event, ReceiveLayer, RespondLayer};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::time::Instant;
use tower::{Layer as _, Service, ServiceExt as _};

use crate::net::{Draw, Net};

/// How long a call may take.
pub(crate) const DEADLINE_MS: u64 = 2000;
const MAX_TOKENS: f64 = 20.0;
const TOKEN_RATIO: f64 = 0.1;
const LIMITS: [usize; 2] = [3, 1];

/// Without jitter and without times that are drawn for refusals: everything that is drawn is of the
/// seed.
const FILE: &str = "\
damper: 1
classes: [high, low]
services:
  front: {}
  db: {workers: 4, queue: 8, service_time: 5ms, pushback: none}
load: {high: 10/s, low: 10/s}
requests:
  get: {calls: [{front: [db]}]}
policies:
  db:
    timeout: 300ms
    deadline: {total: 2s, travels: true}
    idempotent: IDEMPOTENT
    retry:
      limit: {high: 3, low: 1}
      backoff: {kind: exponential, base: 10ms, factor: 2, max: 100ms, jitter: none}
      budget: {kind: token-bucket, max_tokens: 20, token_ratio: 0.1}
";

/// The most retries that the token bucket grants: each follows a failure that takes a token and leaves
/// more than half of them, and a good reply gives a part of one.
pub(crate) fn most_retries(good: u64) -> f64 {
    // Two buckets, one for each of the clients.
    2.0 * (MAX_TOKENS / 2.0) + TOKEN_RATIO * good as f64
}

/// One call and its end.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) id: usize,
    /// Retries that its class may make.
    pub(crate) limit: usize,
    /// It must not be worked on twice.
    pub(crate) once: bool,
    pub(crate) ended: bool,
    pub(crate) good: bool,
    pub(crate) end: String,
    pub(crate) took_ms: u64,
}

/// What happened.
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) calls: Vec<Called>,
    pub(crate) events: Vec<String>,
    pub(crate) retries: u64,
    pub(crate) good_attempts: u64,
    pub(crate) jumped_ms: u64,
    /// What the door of the server still holds: who works and who waits when all is over.
    pub(crate) left: [u32; 2],
    attempts: HashMap<usize, usize>,
    worked: HashMap<usize, usize>,
}

impl Run {
    pub(crate) fn attempts(&self, id: usize) -> usize {
        self.attempts.get(&id).copied().unwrap_or(0)
    }

    pub(crate) fn worked(&self, id: usize) -> usize {
        self.worked.get(&id).copied().unwrap_or(0)
    }
}

/// What all parts of a run write to.
struct Log {
    start: Instant,
    events: Vec<String>,
    attempts: HashMap<usize, usize>,
    worked: HashMap<usize, usize>,
    draw: Draw,
}

type Shared = Arc<Mutex<Log>>;

fn say(log: &Shared, what: impl fmt::Display) {
    let mut log = log.lock().unwrap();
    let line = format!("{:>9.3} {what}", log.start.elapsed().as_secs_f64() * 1e3);
    log.events.push(line);
}

/// What a client of the test can fail with.
#[derive(Debug)]
pub(crate) enum Lost {
    Io(std::io::Error),
    Http(hyper::Error),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lost")
    }
}

impl std::error::Error for Lost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Io(error) => error,
            Self::Http(error) => error,
        })
    }
}

type Sent = Request<Replay<Full<Bytes>>>;
type Sender = SendRequest<Replay<Full<Bytes>>>;

/// Connections to a host, reused when their last exchange is over.
#[derive(Clone)]
struct Client {
    net: Net,
    host: usize,
    free: Arc<Mutex<Vec<Sender>>>,
    log: Shared,
}

impl Client {
    async fn send(self, request: Sent) -> Result<Response<Full<Bytes>>, Lost> {
        let id = id(&request);
        *self.log.lock().unwrap().attempts.entry(id).or_default() += 1;
        say(&self.log, format_args!("call {id}: attempt"));
        let mut sender = loop {
            let known = self.free.lock().unwrap().pop();
            match known {
                Some(mut sender) => {
                    if sender.ready().await.is_ok() {
                        break sender;
                    }
                }
                None => {
                    let io = self.net.connect(self.host).await.map_err(Lost::Io)?;
                    let made = hyper::client::conn::http1::handshake(TokioIo::new(io)).await;
                    let (sender, connection) = made.map_err(Lost::Http)?;
                    tokio::spawn(async move {
                        let _ = connection.await;
                    });
                    break sender;
                }
            }
        };
        let response = sender.send_request(request).await.map_err(Lost::Http)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(Lost::Http)?.to_bytes();
        self.free.lock().unwrap().push(sender);
        Ok(Response::from_parts(head, Full::new(body)))
    }
}

fn id<B>(request: &Request<B>) -> usize {
    request.headers()["x-id"].to_str().unwrap().parse().unwrap()
}

impl Service<Sent> for Client {
    type Response = Response<Full<Bytes>>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Sent) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

/// The work behind the door: it takes a while, fails now and then, and sometimes never ends.
async fn work(
    log: Shared,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let id = id(&request);
    let (takes, status) = {
        let mut log = log.lock().unwrap();
        *log.worked.entry(id).or_default() += 1;
        let takes = match log.draw.between(0, 100) {
            0..3 => Duration::from_secs(3600),
            3..20 => log.draw.ms(50, 400),
            _ => log.draw.ms(1, 10),
        };
        let status = match log.draw.between(0, 100) {
            0..10 => StatusCode::INTERNAL_SERVER_ERROR,
            10..18 => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::OK,
        };
        (takes, status)
    };
    say(&log, format_args!("call {id}: work for {takes:?}, {status}"));
    tokio::time::sleep(takes).await;
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(b"done")));
    *response.status_mut() = status;
    Ok(response)
}

/// Everything that happens in one run.
pub(crate) fn run(seed: u64) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(world(seed))
}

async fn world(seed: u64) -> Run {
    let mut draw = Draw::new(seed);
    let net = Net::new(seed);
    let log = Arc::new(Mutex::new(Log {
        start: Instant::now(),
        events: Vec::new(),
        attempts: HashMap::new(),
        worked: HashMap::new(),
        draw: Draw::new(seed ^ 0x776f_726b),
    }));
    let system = |idempotent: bool| {
        let text = FILE.replace("IDEMPOTENT", &idempotent.to_string());
        SystemFile::parse("world.yaml", &text).unwrap().lower().unwrap()
    };
    let (host, mut connections) = net.host();
    let door = Serves::of(&system(true), "db", []).unwrap().layer();
    let handler = {
        let log = log.clone();
        tower::service_fn(move |request: Request<Incoming>| work(log.clone(), request))
    };
    let server = RespondLayer::default()
        .saying(door.word())
        .layer(ReceiveLayer::default().layer(door.layer(handler)));
    tokio::spawn(async move {
        while let Some(io) = connections.recv().await {
            let service = TowerToHyperService::new(server.clone());
            tokio::spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(io), service);
                let _ = connection.await;
            });
        }
    });
    let client = Client { net: net.clone(), host, free: Arc::default(), log: log.clone() };
    // What may be repeated is a matter of the policy, so there is one client for each kind.
    let calls = [true, false].map(|repeats| Calls::of(&system(repeats), "front -> db").unwrap());
    let services = calls.each_ref().map(|calls| {
        let (retry, breaker, throttle, send) = calls.layers();
        let counters = retry.counters().clone();
        (retry.layer(breaker.layer(throttle.layer(send.layer(client.clone())))), counters)
    });
    let trouble = tokio::spawn(trouble(net.clone(), log.clone(), Draw::new(seed ^ 0x0074_726f)));
    let mut under_way = Vec::new();
    for id in 0..150 {
        tokio::time::sleep(draw.ms(0, 60)).await;
        let class = draw.between(0, 2) as u8;
        let once = draw.percent(40);
        let (service, log) = (services[usize::from(once)].0.clone(), log.clone());
        let mut request =
            Request::new(Full::new(Bytes::from(vec![b'x'; draw.between(0, 4000) as usize])));
        *request.method_mut() = if once { Method::POST } else { Method::PUT };
        request.headers_mut().insert("x-id", id.into());
        request.extensions_mut().insert(Class(class));
        under_way.push(tokio::spawn(async move {
            let begun = Instant::now();
            let result = service.oneshot(request).await;
            let end = match &result {
                Ok(reply) => reply.status().as_u16().to_string(),
                Err(error) => name(error),
            };
            let took_ms = begun.elapsed().as_millis() as u64;
            say(&log, format_args!("call {id}: ended with {end} after {took_ms} ms"));
            let limit = LIMITS[usize::from(class)];
            let good = end == "200";
            Called { id, limit, once, ended: true, good, end, took_ms }
        }));
    }
    let jumped_ms = trouble.await.unwrap();
    let mut calls = Vec::new();
    for (id, one) in under_way.into_iter().enumerate() {
        // An hour of a clock that goes on by itself when nothing else can.
        let called = tokio::time::timeout(Duration::from_secs(3600), one).await;
        calls.push(match called {
            Ok(called) => called.unwrap(),
            Err(_) => Called {
                id,
                limit: 0,
                once: false,
                ended: false,
                good: false,
                end: "none".into(),
                took_ms: 0,
            },
        });
    }
    // Connections that nobody hears of any more end when their hosts do.
    net.reset_all();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let load = door.load();
    let seen = services.each_ref().map(|(_, counters)| counters.snapshot());
    let both = |event: Event| -> u64 {
        seen.iter().flat_map(|seen| [seen.of(0, event), seen.of(1, event)]).sum()
    };
    let mut log = log.lock().unwrap();
    Run {
        seed,
        calls,
        events: std::mem::take(&mut log.events),
        retries: both(Event::Retry),
        good_attempts: both(Event::Ended(damper_control::Outcome::Success)),
        jumped_ms,
        left: [load.working, load.waiting],
        attempts: std::mem::take(&mut log.attempts),
        worked: std::mem::take(&mut log.worked),
    }
}

/// How a call ended that has no reply.
fn name<E: fmt::Debug>(error: &Error<E>) -> String {
    match error {
        Error::Refused(refusal) => refusal.word().to_owned(),
        Error::TimedOut(_) => "timed out".to_owned(),
        Error::Inner(inner) => {
            // Gates and the client are below: the kind is in what they say.
            let text = format!("{inner:?}");
            let kinds = [("ConnectionRefused", "nobody there"), ("Refused", "refused")];
            let kind = kinds.iter().find(|(kind, _)| text.contains(kind));
            kind.map_or("lost", |(_, name)| name).to_owned()
        }
    }
}

/// What the network does to them for some seconds; how far the clock jumped, in milliseconds.
async fn trouble(net: Net, log: Shared, mut draw: Draw) -> u64 {
    let mut jumped_ms = 0;
    for _ in 0..60 {
        tokio::time::sleep(draw.ms(10, 120)).await;
        let what = draw.between(0, 100);
        match what {
            0..25 => {
                let most = draw.ms(0, 200);
                net.delay(Duration::from_micros(50), most);
                say(&log, format_args!("packets travel up to {most:?}"));
            }
            25..40 => {
                let time = draw.ms(10, 600);
                net.cut(time);
                say(&log, format_args!("cut for {time:?}"));
            }
            40..60 => {
                net.reset_one(draw.between(0, 1000));
                say(&log, "a reset");
            }
            60..75 => {
                net.silence_one(draw.between(0, 1000));
                say(&log, "a connection falls silent");
            }
            75..85 => {
                let time = draw.ms(10, 300);
                net.down(time);
                say(&log, format_args!("nobody listens for {time:?}"));
            }
            85..93 => {
                let time = draw.ms(10, 1500);
                jumped_ms += time.as_millis() as u64;
                say(&log, format_args!("the clock jumps by {time:?}"));
                tokio::time::advance(time).await;
            }
            _ => {
                net.delay(Duration::from_micros(50), Duration::from_micros(500));
                say(&log, "a good network");
            }
        }
    }
    jumped_ms
}

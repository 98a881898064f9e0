//! The data path over a network that is not there: a caller, an outbound hop with two upstreams, an
//! inbound hop before each, and two services, under delays, partitions, resets, connections that fall
//! silent, and a clock that jumps. One seed is one run.

#[path = "../../tower/tests/simulated/net.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is shared with the tests of the layers")]
pub(crate) mod net;

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use damper_system::SystemFile;
use damper_system::sidecar::{Listener, Sidecar, Way};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use self::net::{Draw, Net};
use crate::hop::{Direction, Hop};
use crate::server::connection::{self, Peer};
use crate::server::listener::{Gate, RouteCell, builder};
use crate::stack::{Draft, Route};
use crate::upstream::{Connector, Directory};

/// How long a call may take over all its attempts.
const DEADLINE_MS: u64 = 2000;
const LIMITS: [usize; 2] = [3, 1];
/// Of the token bucket.
const MAX_TOKENS: f64 = 20.0;

/// Without jitter and without times that are drawn for refusals.
const SYSTEM: &str = "\
damper: 1
classes: [high, low]
services:
  front: {}
  db: {workers: 4, queue: 8, service_time: 5ms, pushback: none}
load: {high: 10/s, low: 10/s}
requests: {get: {calls: [{front: [db]}]}}
policies:
  db:
    timeout: 300ms
    deadline: {total: 2s, travels: true}
    retry:
      limit: {high: 3, low: 1}
      backoff: {kind: exponential, base: 10ms, factor: 2, max: 100ms, jitter: none}
      budget: {kind: token-bucket, max_tokens: 20, token_ratio: 0.1}
";

/// Ports stand for hosts of the network: 1 is the outbound hop, 2 and 3 are inbound hops, 4 and 5 the
/// services behind them.
const CONFIG: &str = "\
proxy: 1
system: s
inbound:
  - {service: db, listen: '127.0.0.1:2', upstream: '127.0.0.1:4', trust: all}
outbound:
  - {call: front -> db, listen: '127.0.0.1:1', upstream: ['127.0.0.1:2', '127.0.0.1:3'], trust: all}
";

/// What was seen of one call.
#[derive(Default)]
struct Seen {
    /// Attempts that a service worked on.
    worked: usize,
    /// Of these, those that were retries.
    retries: usize,
}

struct Log {
    seen: HashMap<usize, Seen>,
    draw: Draw,
}

type Shared = Arc<Mutex<Log>>;

struct Called {
    id: usize,
    once: bool,
    limit: usize,
    end: String,
    took_ms: u64,
}

struct Run {
    calls: Vec<Called>,
    seen: HashMap<usize, Seen>,
    jumped_ms: u64,
    /// Requests that each hop still has when all is over.
    left: Vec<u64>,
}

/// A hop that accepts from a host of the network and sends to others.
fn serve(net: &Net, listener: &Listener, system: &damper_system::System, seed: u64) -> Arc<Route> {
    let (_, mut connections) = net.host();
    let direction = match listener.way {
        Way::Inbound(_) => Direction::Inbound,
        Way::Outbound(_) => Direction::Outbound,
    };
    let hop = Hop::new(listener.name(), direction, system.classes.clone());
    let draft = Draft::new(hop, system, listener, Vec::new()).unwrap();
    let (hop, rest) = draft.split();
    let hop = Arc::new(hop);
    let gate = Arc::new(Gate::new(&listener.limits, hop.meters().clone()));
    let controls = rest.with(hop, Arc::new(Directory::new(&listener.upstream)), None);
    let connector = Connector::new(&listener.upstream).unwrap().over(net.clone());
    let route = Arc::new(Route::new(Arc::new(controls), connector, seed));
    let cell = Arc::new(RouteCell::new(route.clone()));
    let builder = Arc::new(builder(&listener.limits));
    tokio::spawn(async move {
        while let Some(io) = connections.recv().await {
            let Some(place) = gate.enter() else { continue };
            let peer = Arc::new(Peer::new(SocketAddr::from(([127, 0, 0, 1], 9)), place));
            let (cell, builder) = (cell.clone(), builder.clone());
            tokio::spawn(async move {
                connection::run(TokioIo::new(io), peer, cell, &builder).await;
            });
        }
    });
    route
}

/// A service that takes a while, fails now and then, and sometimes never answers.
fn service(net: &Net, log: &Shared) {
    let (_, mut connections) = net.host();
    let log = log.clone();
    tokio::spawn(async move {
        while let Some(io) = connections.recv().await {
            let log = log.clone();
            tokio::spawn(async move {
                let work = service_fn(move |request| work(log.clone(), request));
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(io), work)
                    .await;
            });
        }
    });
}

async fn work(
    log: Shared,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let number =
        |name: &str| -> Option<usize> { request.headers().get(name)?.to_str().ok()?.parse().ok() };
    let (takes, status) = {
        let mut log = log.lock().unwrap();
        let seen = log.seen.entry(number("x-id").unwrap()).or_default();
        seen.worked += 1;
        seen.retries += usize::from(number("x-envoy-attempt-count").unwrap() > 1);
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
    tokio::time::sleep(takes).await;
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(b"done")));
    *response.status_mut() = status;
    Ok(response)
}

/// The caller: connections that are reused when their last exchange is over.
#[derive(Clone)]
struct Caller {
    net: Net,
    free: Arc<Mutex<Vec<SendRequest<Full<Bytes>>>>>,
}

impl Caller {
    async fn send(&self, request: Request<Full<Bytes>>) -> Option<StatusCode> {
        let known = self.free.lock().unwrap().pop();
        let mut sender = match known {
            Some(sender) if !sender.is_closed() => sender,
            _ => {
                let io = self.net.connect(1).await.ok()?;
                let made = hyper::client::conn::http1::handshake(TokioIo::new(io)).await;
                let (sender, connection) = made.ok()?;
                tokio::spawn(async move {
                    let _ = connection.await;
                });
                sender
            }
        };
        sender.ready().await.ok()?;
        let (head, body) = sender.send_request(request).await.ok()?.into_parts();
        body.collect().await.ok()?;
        self.free.lock().unwrap().push(sender);
        Some(head.status)
    }
}

fn run(seed: u64) -> Run {
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
    let draws = Draw::new(seed ^ 0x776f_726b);
    let log = Arc::new(Mutex::new(Log { seen: HashMap::new(), draw: draws }));
    let read = |_: &Path| SystemFile::parse("s", SYSTEM)?.lower();
    let sidecar =
        Sidecar::parse("c", CONFIG, Path::new(""), &read).unwrap_or_else(|p| panic!("{p}"));
    let of = |inbound: bool| {
        let is = |way: &Way| matches!(way, Way::Inbound(_)) == inbound;
        sidecar.listeners.iter().find(|listener| is(&listener.way)).unwrap().clone()
    };
    let (outbound, first) = (of(false), of(true));
    let mut second = first.clone();
    second.upstream.to =
        vec![damper_system::sidecar::Endpoint::Address(([127, 0, 0, 1], 5).into())];
    // Host 0 is nobody.
    let _nobody = net.host();
    let routes =
        [&outbound, &first, &second].map(|listener| serve(&net, listener, &sidecar.system, seed));
    service(&net, &log);
    service(&net, &log);
    let trouble = tokio::spawn(trouble(net.clone(), Draw::new(seed ^ 0x0074_726f)));
    let caller = Caller { net: net.clone(), free: Arc::default() };
    let mut under_way = Vec::new();
    for id in 0..120usize {
        tokio::time::sleep(draw.ms(0, 70)).await;
        let (class, once) = (draw.between(0, 2) as usize, draw.percent(40));
        let body = vec![b'x'; draw.between(0, 3000) as usize];
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = if once { Method::POST } else { Method::PUT };
        let headers = request.headers_mut();
        headers.insert("host", "db".parse().unwrap());
        headers.insert("x-id", id.into());
        headers.insert("x-damper-class", ["high", "low"][class].parse().unwrap());
        let caller = caller.clone();
        under_way.push(tokio::spawn(async move {
            let begun = Instant::now();
            // A caller has a patience of its own, since its own connection may fall silent.
            let patience = Duration::from_secs(20);
            let end = match tokio::time::timeout(patience, caller.send(request)).await {
                Ok(Some(status)) => status.as_u16().to_string(),
                Ok(None) => "lost".to_owned(),
                Err(_) => "silence".to_owned(),
            };
            let took_ms = begun.elapsed().as_millis() as u64;
            Called { id, once, limit: LIMITS[class], end, took_ms }
        }));
    }
    let jumped_ms = trouble.await.unwrap();
    let mut calls = Vec::new();
    for one in under_way {
        calls.push(one.await.unwrap());
    }
    net.reset_all();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let left = routes
        .iter()
        .map(|route| {
            let seen = route.controls.hop.meters().snapshot();
            seen.total(crate::meters::ClassSeen::in_flight)
        })
        .collect();
    let seen = std::mem::take(&mut log.lock().unwrap().seen);
    Run { calls, seen, jumped_ms, left }
}

/// What the network does to them for some seconds; how far the clock jumped, in milliseconds.
async fn trouble(net: Net, mut draw: Draw) -> u64 {
    let mut jumped_ms = 0;
    for _ in 0..60 {
        tokio::time::sleep(draw.ms(10, 120)).await;
        match draw.between(0, 100) {
            0..25 => net.delay(Duration::from_micros(50), draw.ms(0, 100)),
            25..40 => net.cut(draw.ms(10, 500)),
            40..60 => net.reset_one(draw.between(0, 1000)),
            60..70 => net.silence_one(draw.between(0, 1000)),
            70..78 => net.down(draw.ms(10, 200)),
            78..86 => {
                let time = draw.ms(10, 1500);
                jumped_ms += time.as_millis() as u64;
                tokio::time::advance(time).await;
            }
            _ => net.delay(Duration::from_micros(50), Duration::from_micros(500)),
        }
    }
    jumped_ms
}

/// What must be true of every run, whatever the network did.
fn check(seed: u64, run: &Run) {
    let mut good = 0;
    for call in &run.calls {
        let none = Seen::default();
        let seen = run.seen.get(&call.id).unwrap_or(&none);
        let (id, worked) = (call.id, seen.worked);
        assert!(worked <= call.limit + 2, "seed {seed}: call {id} was worked on {worked} times");
        if call.once {
            assert!(worked <= 1, "seed {seed}: call {id} may be done once, and was {worked} times");
        }
        if call.end == "200" {
            good += 1;
            assert!(worked >= 1, "seed {seed}: call {id} succeeded without any work");
        }
        // A reply comes in time, but for what the network between caller and proxy took.
        let most = DEADLINE_MS + run.jumped_ms + 2500;
        assert!(
            call.end == "silence" || call.took_ms <= most,
            "seed {seed}: call {id} took {} ms",
            call.took_ms
        );
    }
    assert!(run.left.iter().all(|left| *left == 0), "seed {seed}: left over: {:?}", run.left);
    let retries: usize = run.seen.values().map(|seen| seen.retries).sum();
    // Each follows a failure that takes a token and leaves more than half of them; attempts that
    // nobody heard of any more may have been good as well.
    let granted = MAX_TOKENS / 2.0 + 0.1 * run.calls.len() as f64;
    assert!(retries as f64 <= granted, "seed {seed}: {retries} retries, {good} good calls");
}

/// Seeds that found something once.
const KEPT: [u64; 0] = [];

#[test]
fn whatever_the_network_does() {
    let mut ends = BTreeSet::new();
    let mut retries = 0;
    for seed in KEPT.into_iter().chain(0..30) {
        let run = run(seed);
        check(seed, &run);
        ends.extend(run.calls.iter().map(|call| call.end.clone()));
        retries += run.seen.values().map(|seen| seen.retries).sum::<usize>();
    }
    // A network in which nothing happens would show nothing.
    assert!(retries > 50, "{retries} retries");
    for end in ["200", "500", "503", "504", "lost"] {
        assert!(ends.contains(end), "nothing ended with {end}: {ends:?}");
    }
}

#[test]
fn a_seed_is_the_same_run_each_time() {
    let ends = |seed| -> Vec<(String, u64)> {
        run(seed).calls.into_iter().map(|call| (call.end, call.took_ms)).collect()
    };
    assert_eq!(ends(5), ends(5));
}

#[test]
#[ignore = "slow: three hundred seeds"]
fn whatever_the_network_does_many_times() {
    let count = std::env::var("DAMPER_SEEDS").map_or(300, |count| count.parse().unwrap());
    for seed in 1000..1000 + count {
        check(seed, &run(seed));
    }
}

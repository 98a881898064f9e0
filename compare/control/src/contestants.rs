//! Who is measured at what. Each group is one thing that all its members do.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use congestion_limiter::limiter::{DefaultLimiter, Limiter as _, Outcome as Congestion};
use damper_control::concurrency::{Limit, Limiter};
use damper_control::entry::Build;
use damper_control::gate::{Admit as _, Gate};
use damper_control::shared::{
    Concurrency, DepositBudget, RateLimit, RatioBudget, ShardedRatioBudget, TokenBucket,
};
use damper_control::{Nanos, Outcome, registry};
use futures_util::FutureExt as _;
use governor::clock::{Clock as _, Reference as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use tower::retry::budget::{Budget as _, TpsBudget};
use tower::{Layer as _, Service};

use crate::measure::{Round, round};

/// One that is measured.
pub struct Contestant {
    pub group: &'static str,
    pub name: &'static str,
    pub ours: bool,
    /// Whether more than one thread can use it.
    pub shared: bool,
    pub run: Box<dyn Fn(usize, Duration) -> Round>,
}

/// As many as a server with a few workers would have.
const SHARDS: usize = 8;
const TEN_SECONDS: Duration = Duration::from_secs(10);

struct List {
    group: &'static str,
    all: Vec<Contestant>,
}

impl List {
    fn add<F: FnMut()>(
        &mut self,
        name: &'static str,
        worker: impl Fn(usize) -> F + Sync + 'static,
    ) {
        let ours = name.starts_with("Damper");
        let run = move |threads, length| round(threads, length, &worker);
        self.all.push(Contestant {
            group: self.group,
            name,
            ours,
            shared: true,
            run: Box::new(run),
        });
    }

    /// One that has a single owner.
    fn add_single<F: FnMut()>(
        &mut self,
        name: &'static str,
        worker: impl Fn() -> F + Sync + 'static,
    ) {
        self.add(name, move |_| worker());
        if let Some(last) = self.all.last_mut() {
            last.shared = false;
        }
    }
}

/// Where the time that our controls are given comes from.
#[derive(Clone, Copy)]
enum Time {
    /// Nowhere: it moves on by itself.
    Given,
    /// The clock of the standard library, for every request, as most peers do.
    Read,
    /// The cheaper clock that governor reads.
    ReadAsGovernor,
}

impl Time {
    fn source(self, start: Start) -> impl FnMut() -> Nanos {
        let governor = governor::clock::DefaultClock::default();
        let mut given = nanos(start.0.elapsed().as_nanos());
        move || match self {
            Self::Given => {
                given = given + Nanos(20);
                given
            }
            Self::Read => nanos(start.0.elapsed().as_nanos()),
            Self::ReadAsGovernor => Nanos(governor.now().duration_since(start.1).as_u64()),
        }
    }
}

/// The origin of time, the same for all threads, or one of them would live in another's past.
#[derive(Clone, Copy)]
struct Start(Instant, governor::clock::QuantaInstant);

impl Start {
    fn now() -> Self {
        Self(Instant::now(), governor::clock::DefaultClock::default().now())
    }
}

fn nanos(n: u128) -> Nanos {
    Nanos(u64::try_from(n).unwrap_or(u64::MAX))
}

pub fn all() -> Vec<Contestant> {
    let mut list = List { group: "", all: Vec::new() };
    floor(&mut list);
    budgets(&mut list);
    ratios(&mut list);
    rate_limits(&mut list);
    limits(&mut list);
    breakers(&mut list);
    list.all
}

/// What cannot be had for less.
fn floor(list: &mut List) {
    list.group = "floor";
    let word = Arc::new(AtomicU64::new(0));
    list.add("one word that all write", move |_| {
        let word = Arc::clone(&word);
        move || {
            word.fetch_add(1, Ordering::AcqRel);
        }
    });
    list.add("reading the clock", |_| {
        || {
            black_box(Instant::now());
        }
    });
}

fn budgets(list: &mut List) {
    list.group = "retry budget: a call pays in, and retries";
    // A token per call, so that all are granted.
    add_deposits(list, "Damper DepositBudget", 1000, Time::Given);
    add_deposits(list, "Damper DepositBudget, reading the clock", 1000, Time::Read);
    let tower = Arc::new(TpsBudget::new(TEN_SECONDS, 10, 1.0));
    list.add("tower TpsBudget", move |_| {
        let tower = Arc::clone(&tower);
        move || {
            tower.deposit();
            black_box(tower.withdraw());
        }
    });
    let resilience = tower_resilience_retry::RetryBudgetBuilder::new()
        .token_bucket()
        .tokens_per_second(10.0)
        .max_tokens(1_000_000)
        .initial_tokens(500_000)
        .build()
        .expect("valid");
    list.add("tower-resilience token bucket", move |_| {
        let resilience = Arc::clone(&resilience);
        move || {
            resilience.deposit();
            black_box(resilience.try_withdraw());
        }
    });

    list.group = "retry budget: exhausted, a call pays in a fifth and wants a retry";
    add_deposits(list, "Damper DepositBudget", 200, Time::Given);
    add_deposits(list, "Damper DepositBudget, reading the clock", 200, Time::Read);
    let tower = Arc::new(TpsBudget::new(TEN_SECONDS, 10, 0.2));
    list.add("tower TpsBudget", move |_| {
        let tower = Arc::clone(&tower);
        move || {
            tower.deposit();
            black_box(tower.withdraw());
        }
    });

    list.group = "gRPC throttle: a failure and the success that makes up for it";
    let bucket = Arc::new(TokenBucket::try_new(100, 1.0, SHARDS).expect("valid"));
    list.add("Damper TokenBucket", move |worker| {
        let bucket = Arc::clone(&bucket);
        move || {
            black_box(bucket.failure(worker));
            bucket.success();
        }
    });
    list.group = "gRPC throttle: a success while all is well";
    let bucket = Arc::new(TokenBucket::try_new(100, 0.1, SHARDS).expect("valid"));
    list.add("Damper TokenBucket", move |_| {
        let bucket = Arc::clone(&bucket);
        move || bucket.success()
    });
}

/// A call that pays in so many thousandths of a token, and wants a retry.
fn add_deposits(list: &mut List, name: &'static str, per_mille: u32, time: Time) {
    let budget = DepositBudget::try_new(per_mille, 10, Nanos::from_secs(10), SHARDS);
    let (budget, start) = (Arc::new(budget.expect("valid")), Start::now());
    list.add(name, move |worker| {
        let budget = Arc::clone(&budget);
        let mut time = time.source(start);
        move || {
            let now = time();
            budget.deposit(worker, now);
            black_box(budget.withdraw(worker, now));
        }
    });
}

fn ratios(list: &mut List) {
    list.group = "concurrent retries: a call starts, retries once, and ends";
    let sharded = Arc::new(ShardedRatioBudget::try_new(200, 100, SHARDS).expect("valid"));
    list.add("Damper ShardedRatioBudget", move |worker| {
        let budget = Arc::clone(&sharded);
        move || {
            budget.start(worker);
            if black_box(budget.withdraw(worker)) {
                budget.done(worker);
            }
            budget.end(worker);
        }
    });
    let exact = Arc::new(RatioBudget::try_new(200, 3, SHARDS).expect("valid"));
    list.add("Damper RatioBudget", move |worker| {
        let budget = Arc::clone(&exact);
        move || {
            budget.start();
            if black_box(budget.withdraw(worker)) {
                budget.done();
            }
            budget.end();
        }
    });
}

fn rate_limits(list: &mut List) {
    // So much that nobody is refused; and so little that nearly everybody is.
    for (group, rate, burst) in
        [("rate limit: admits", 1_000_000_000, 1_000_000_000), ("rate limit: refuses", 1, 1)]
    {
        list.group = group;
        for (name, time) in [
            ("Damper RateLimit", Time::Given),
            ("Damper RateLimit, reading governor's clock", Time::ReadAsGovernor),
        ] {
            let limit = RateLimit::try_new(f64::from(rate), burst, SHARDS).expect("valid");
            let (limit, start) = (Arc::new(limit), Start::now());
            list.add(name, move |worker| {
                let limit = Arc::clone(&limit);
                let mut time = time.source(start);
                move || {
                    let _ = black_box(limit.acquire(worker, time(), 0));
                }
            });
        }
        let [rate, burst] = [rate, burst].map(|n| NonZeroU32::new(n).expect("positive"));
        let quota = governor::Quota::per_second(rate).allow_burst(burst);
        let governor = Arc::new(governor::RateLimiter::direct(quota));
        list.add("governor, direct", move |_| {
            let governor = Arc::clone(&governor);
            move || drop(black_box(governor.check()))
        });
    }
}

/// A service that answers at once.
#[derive(Clone)]
struct Instantly;

impl Service<()> for Instantly {
    type Response = ();
    type Error = Infallible;
    type Future = Ready<Result<(), Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(()))
    }
}

/// One call of a service that answers at once.
fn call<S: Service<()>>(service: &mut S) {
    let mut context = Context::from_waker(Waker::noop());
    if service.poll_ready(&mut context).is_ready() {
        drop(black_box(service.call(()).now_or_never()));
    }
}

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

/// A limit with its defaults.
fn limit(name: &str) -> Option<Limit> {
    let entry = registry::find(name)?;
    let Build::Concurrency(build) = entry.build else { return None };
    build(&entry.defaults().collect::<Vec<_>>())
}

/// A gate with its defaults.
fn gate(name: &str) -> Option<Gate> {
    let entry = registry::find(name)?;
    let Build::Gate(build) = entry.build else { return None };
    build(&entry.defaults().collect::<Vec<_>>())
}

fn limits(list: &mut List) {
    list.group = "concurrency limit, fixed: take a place and give it back";
    let ours = Arc::new(Concurrency::try_new(100, SHARDS).expect("valid"));
    list.add("Damper Concurrency", move |worker| {
        let limit = Arc::clone(&ours);
        move || {
            if let Ok(permit) = black_box(limit.acquire(worker, 0)) {
                limit.release(worker, permit);
            }
        }
    });
    let fixed = congestion_limiter::limits::Fixed::new(100);
    congestion(list, "congestion-limiter Fixed", fixed);
    let tower = tower::limit::ConcurrencyLimitLayer::new(100).layer(Instantly);
    service(list, "tower ConcurrencyLimit", tower);

    list.group = "concurrency limit, AIMD: take a place, give it back, learn";
    if let Some(limit) = limit("aimd") {
        for (name, time) in [
            ("Damper aimd, one owner", Time::Given),
            ("Damper aimd, one owner, reading the clock", Time::Read),
        ] {
            let limit = limit.clone();
            list.add_single(name, move || {
                let mut limiter = Limiter::try_new(limit.clone(), None).expect("no shares");
                let (mut time, mut rng) = (time.source(Start::now()), rng());
                move || {
                    if let Ok(permit) = black_box(limiter.acquire(time(), 0)) {
                        let outcome = Some(Outcome::Success);
                        limiter.release(time(), permit, Nanos::ZERO, outcome, &mut rng);
                    }
                }
            });
        }
    }
    let aimd = congestion_limiter::limits::Aimd::new(100, 100..=200);
    congestion(list, "congestion-limiter Aimd", aimd);
    let aimd = tower_resilience_adaptive::Aimd::builder()
        .initial_limit(100)
        .min_limit(100)
        .max_limit(200)
        .latency_threshold(Duration::from_secs(1))
        .build()
        .expect("valid");
    let layer = tower_resilience_adaptive::AdaptiveLimiterLayer::new(aimd);
    service(list, "tower-resilience AIMD", layer.layer(Instantly));
}

fn congestion<L>(list: &mut List, name: &'static str, algorithm: L)
where
    L: congestion_limiter::limits::LimitAlgorithm + Sync + Send + std::fmt::Debug + 'static,
{
    let limiter = Arc::new(DefaultLimiter::new(algorithm));
    list.add(name, move |_| {
        let limiter = Arc::clone(&limiter);
        move || {
            if let Some(Some(token)) = limiter.try_acquire().now_or_never() {
                let outcome = Some(Congestion::Success);
                black_box(limiter.release(token, outcome).now_or_never());
            }
        }
    });
}

fn service<S>(list: &mut List, name: &'static str, service: S)
where
    S: Service<()> + Clone + Send + 'static,
{
    // A clone for each thread, as tower has it. Cloning need not be possible from all threads.
    let service = std::sync::Mutex::new(service);
    list.add(name, move |_| {
        let mut service = service.lock().expect("nobody panics").clone();
        move || call(&mut service)
    });
}

fn breakers(list: &mut List) {
    list.group = "circuit breaker: a call that succeeds";
    if let Some(gate) = gate("breaker") {
        for (name, time) in [
            ("Damper breaker, one owner", Time::Given),
            ("Damper breaker, one owner, reading the clock", Time::Read),
        ] {
            let gate = gate.clone();
            list.add_single(name, move || breaker(gate.clone(), time));
        }
    }
    let layer = tower_resilience_circuitbreaker::CircuitBreakerLayer::builder()
        .failure_rate_threshold(0.5)
        .sliding_window_size(100)
        .build()
        .expect("valid");
    service(list, "tower-resilience circuit breaker", layer.layer(Instantly));
}

fn breaker(mut gate: Gate, time: Time) -> impl FnMut() {
    let (mut time, mut rng) = (time.source(Start::now()), rng());
    move || {
        let now = time();
        if let Ok(pass) = black_box(gate.admit(now, 0, &mut rng)) {
            let end = time();
            gate.settle(end, pass, Outcome::Success, end.since(now), &mut rng);
        }
    }
}

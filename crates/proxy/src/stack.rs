//! A hop: its controls, which all workers share, and what each worker puts them before.

use std::sync::Arc;

use damper_control::Nanos;
use damper_control::Who;
use damper_system::System;
use damper_system::sidecar::{Listener, Repeat as Repeats, Way};
use damper_tower::body::{Replay, Watched};
use damper_tower::door::{DoorService, Word};
use damper_tower::gate::GateService;
use damper_tower::lever::LeverService;
use damper_tower::propagate::SendService;
use damper_tower::retry::{Account, Repeat, RetryService};
use damper_tower::system::{Calls, Serves, Unknown, identify};
use damper_tower::{
    ByHeader, DoorLayer, Error, GateLayer, Identify, LeverLayer, RetryLayer, SendLayer,
    SharedBudget, headers,
};
use http::{HeaderName, Request, Response};
use tower_layer::Layer as _;
use tower_service::Service;

use crate::body::Inflow;
use crate::classify::{Reads, Saturated};
use crate::hop::{Hop, layer};
use crate::meters::{Meters, WaitFuture, WaitLayer, WaitService};
use crate::observe::{Log, gain};
use crate::upstream::{Cluster, Connector, Directory, Fault, Forward, Reply};

/// Requests that may wait at a door whose service has no `queue`: each holds memory, and a stranger
/// can send as many as there are streams.
const QUEUE: u32 = 16_384;

/// Whose request it is was read once, when it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried;

impl Identify<Request<Inflow>> for Carried {
    fn who(&self, request: &Request<Inflow>) -> Who {
        request.body().who
    }

    fn deadline(&self, request: &Request<Inflow>) -> Option<Nanos> {
        request.body().deadline
    }
}

/// What all workers share of a hop.
pub struct Controls {
    /// What the configuration says of it.
    pub(crate) listener: Listener,
    /// How it is shown to operators.
    pub(crate) hop: Arc<Hop>,
    /// Reads class and flow of callers that are believed; of others, what is left is nothing.
    pub(crate) identify: ByHeader,
    /// The header with the rank of a user.
    pub(crate) rank: Option<HeaderName>,
    pub(crate) reads: Reads,
    lever: LeverLayer<Carried>,
    kind: Kind,
    directory: Arc<Directory>,
    saturated: Saturated,
    pub(crate) log: Option<Log>,
}

impl Controls {
    /// The endpoints behind it, as one worker reaches them.
    fn cluster<B>(&self, connector: Connector, seed: u64) -> Arc<Cluster<B>> {
        let (directory, saturated) = (self.directory.clone(), self.saturated.clone());
        let (upstream, meters) = (&self.listener.upstream, self.hop.meters().clone());
        Arc::new(Cluster::new(upstream, connector, directory, saturated, meters, seed))
    }
}

impl std::fmt::Debug for Controls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controls").field("hop", &self.hop).finish_non_exhaustive()
    }
}

enum Kind {
    Inbound {
        door: DoorLayer<Reads, Carried>,
    },
    Outbound {
        retry: RetryLayer<Reads>,
        breaker: GateLayer<Reads>,
        throttle: GateLayer<Reads>,
        send: SendLayer,
    },
}

/// The controls of a hop before they are put in force.
pub struct Draft {
    hop: Hop,
    listener: Listener,
    identify: ByHeader,
    reads: Reads,
    lever: LeverLayer<Carried>,
    kind: Kind,
    saturated: Saturated,
}

impl Draft {
    /// The controls that the system file has for a listener. `below`: the budgets of the calls
    /// that the service makes, whose word OVERLOADED its door passes on.
    ///
    /// # Errors
    /// The system has no such service or call.
    pub fn new(
        hop: Hop,
        system: &System,
        listener: &Listener,
        below: Vec<SharedBudget>,
    ) -> Result<Self, Unknown> {
        let mut identify = identify(system);
        if let Some(name) = header(listener.flow.as_ref()) {
            identify = identify.with_flow(name);
        }
        if let Some(name) = header(listener.rank.as_ref()) {
            identify = identify.with_rank(name);
        }
        let lever = LeverLayer::with(hop.lever().clone(), Carried);
        let saturated = Saturated::default();
        let hop = hop.with_lever(&lever);
        let (hop, kind, reads) = match &listener.way {
            Way::Inbound(service) => {
                let serves = Serves::of(system, service, below)?;
                let reads = Reads::default();
                let bounded =
                    system.services.iter().any(|s| s.name == *service && s.queue.is_some());
                let door = if bounded { serves.door } else { serves.door.with_queue(QUEUE) };
                let door = DoorLayer::with(door, reads.clone(), Carried);
                let hop = hop.with_outlook(gain::inbound(system, service).unwrap_or_default());
                (hop.with_door(&door), Kind::Inbound { door }, reads)
            }
            Way::Outbound(call) => {
                let calls = Calls::of(system, call)?;
                let edge = system.edge_named(call).ok_or_else(|| Unknown(call.clone()))?;
                let reads = Reads::of(&edge.policy, saturated.clone());
                let mut policy = calls.policy;
                if listener.repeat == Repeats::ByMethod && policy.repeat == Repeat::Always {
                    policy.repeat = Repeat::ByMethod;
                }
                let tells = policy.tells_deadline;
                let retry = RetryLayer::with(policy, calls.budget, reads.clone(), identify.clone());
                let gate = |gate| GateLayer::with(gate, reads.clone(), identify.clone());
                let (breaker, throttle) = (gate(calls.breaker), gate(calls.throttle));
                let send = SendLayer::new(identify.clone())
                    .with_deadline(tells)
                    .with_told(saturated.told().clone());
                let hop = hop
                    .with_outlook(gain::outbound(system, call).unwrap_or_default())
                    .with_retry(&retry)
                    .with_gate(layer::BREAKER, &breaker)
                    .with_gate(layer::THROTTLE, &throttle)
                    .with_layer(layer::SEND, send.counters());
                (hop, Kind::Outbound { retry, breaker, throttle, send }, reads)
            }
        };
        Ok(Self { hop, listener: listener.clone(), identify, reads, lever, kind, saturated })
    }

    /// The budget of its calls, if it makes any.
    #[must_use]
    pub fn budget(&self) -> Option<SharedBudget> {
        self.kind.budget()
    }

    /// The hop, to be put in force, and the rest.
    #[must_use]
    pub fn split(self) -> (Hop, Rest) {
        let Self { hop, listener, identify, reads, lever, kind, saturated } = self;
        (hop, Rest { listener, identify, reads, lever, kind, saturated })
    }
}

/// A draft without its hop.
pub struct Rest {
    listener: Listener,
    identify: ByHeader,
    reads: Reads,
    lever: LeverLayer<Carried>,
    kind: Kind,
    saturated: Saturated,
}

impl Rest {
    /// Together with the hop that is in force.
    #[must_use]
    pub fn with(self, hop: Arc<Hop>, directory: Arc<Directory>, log: Option<Log>) -> Controls {
        let Self { listener, identify, reads, lever, kind, saturated } = self;
        let rank = header(listener.rank.as_ref());
        Controls { listener, hop, identify, rank, reads, lever, kind, directory, saturated, log }
    }
}

/// The name of a header, as the configuration has it.
fn header(name: Option<&String>) -> Option<HeaderName> {
    name.and_then(|name| HeaderName::try_from(name.as_str()).ok())
}

impl Controls {
    /// The addresses of its upstream.
    #[must_use]
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Whether the door says OVERLOADED.
    pub(crate) fn word(&self) -> Option<Word> {
        match &self.kind {
            Kind::Inbound { door } => Some(door.word()),
            Kind::Outbound { .. } => None,
        }
    }

    /// The budget of its calls, if it makes any.
    pub(crate) fn budget(&self) -> Option<SharedBudget> {
        self.kind.budget()
    }
}

impl Kind {
    fn budget(&self) -> Option<SharedBudget> {
        match self {
            Self::Inbound { .. } => None,
            Self::Outbound { retry, .. } => Some(retry.budget().clone()),
        }
    }
}

/// What is between the door and the service: tells how long a request waited, and the service how
/// much time is left.
#[derive(Clone, Debug)]
pub struct Passed {
    inner: Forward<Inflow>,
    meters: Meters,
}

impl Service<Request<Inflow>> for Passed {
    type Response = Response<Reply<Inflow>>;
    type Error = Fault;
    type Future = WaitFuture<<Forward<Inflow> as Service<Request<Inflow>>>::Future>;

    fn poll_ready(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Fault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Inflow>) -> Self::Future {
        let now = damper_tower::clock::now();
        let body = request.body();
        let (class, deadline) = (body.who.class, body.deadline);
        self.meters.waited(class, now.since(body.came));
        if let Some(deadline) = deadline {
            // Here, and not when it came: the time in the queue is over as well.
            headers::write_time_left(request.headers_mut(), deadline.since(now));
        }
        let attempt = self.meters.attempts(class, now);
        WaitFuture::new(self.inner.call(request), attempt)
    }
}

/// An inbound hop in one worker.
pub type Inbound = LeverService<DoorService<Passed, Reads, Carried>, Carried>;
type Sent = WaitService<Forward<Replay<Inflow>>>;
type Attempts = GateService<GateService<SendService<Sent>, Reads>, Reads>;
/// An outbound hop in one worker.
pub type Outbound = LeverService<RetryService<Attempts, Reads>, Carried>;
/// How the attempts of an outbound hop fail.
pub type Failed = Error<Error<Error<Fault>>>;
/// The body of a reply of an outbound hop.
pub type Counted = Watched<
    Reply<Replay<Inflow>>,
    Account<Reads, ByHeader, Response<Reply<Replay<Inflow>>>, Failed>,
>;

/// A hop as one worker has it.
#[derive(Debug)]
pub struct Route {
    /// What all workers share.
    pub(crate) controls: Arc<Controls>,
    pub(crate) way: RouteWay,
}

/// Which way, with its layers.
#[derive(Debug)]
pub(crate) enum RouteWay {
    Inbound { service: Inbound, cluster: Arc<Cluster<Inflow>>, word: Option<Word> },
    Outbound { service: Box<Outbound>, cluster: Arc<Cluster<Replay<Inflow>>> },
}

impl Route {
    /// For one worker. `connector`: how it reaches the upstream.
    #[must_use]
    pub fn new(controls: Arc<Controls>, connector: Connector, seed: u64) -> Self {
        let Controls { lever, kind, .. } = &*controls;
        let meters = controls.hop.meters().clone();
        let way = match kind {
            Kind::Inbound { door } => {
                let cluster = controls.cluster(connector, seed);
                let inner = Passed { inner: Forward::new(cluster.clone()), meters };
                let service = lever.layer(door.layer(inner));
                RouteWay::Inbound { service, cluster, word: controls.word() }
            }
            Kind::Outbound { retry, breaker, throttle, send } => {
                let cluster = controls.cluster(connector, seed);
                let measured = WaitLayer::new(meters, controls.identify.clone());
                let sent = send.layer(measured.layer(Forward::new(cluster.clone())));
                let service = lever.layer(retry.layer(breaker.layer(throttle.layer(sent))));
                RouteWay::Outbound { service: Box::new(service), cluster }
            }
        };
        Self { controls, way }
    }

    /// Whether attempts of one call should be told apart.
    pub(crate) fn has_choice(&self) -> bool {
        match &self.way {
            RouteWay::Inbound { .. } => false,
            RouteWay::Outbound { cluster, .. } => cluster.has_choice(),
        }
    }

    /// Closes connections that are too old or idle.
    pub fn sweep(&self) {
        match &self.way {
            RouteWay::Inbound { cluster, .. } => cluster.sweep(),
            RouteWay::Outbound { cluster, .. } => cluster.sweep(),
        }
    }
}

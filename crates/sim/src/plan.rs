//! A system compiled for the engine: flat tables, indices instead of names.

use std::collections::HashMap;

use damper_control::admission::AdmissionRule as _;
use damper_control::queue::{DropRule, Order, QueueOrder as _};
use damper_control::{Budget, Nanos, Pushback, Retry};
use damper_system::model::{
    CacheMode, Call, Caller, Fill, OnAbandon, Policy, Service, ServiceId, Step, System, Target,
    Work,
};

use crate::gates::EdgeGates;
use crate::guard::Guard;
use crate::lanes::{MOST_LANES, NO_LANE};
use crate::sampler::Sampler;
use crate::slab::NONE;

/// "No bound", as an instant or a span.
pub(crate) const NEVER: u64 = u64::MAX;

/// A compiled system. Make it once, run it many times.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) system: System,
    pub(crate) services: Vec<ServicePlan>,
    pub(crate) caches: Vec<CachePlan>,
    pub(crate) edges: Vec<EdgePlan>,
    /// Who calls whom, by edge.
    pub(crate) ends: Vec<(Caller, Target)>,
    pub(crate) nodes: Vec<Node>,
    /// Ranges of `nodes`: calls made at the same time.
    pub(crate) steps: Vec<(u32, u32)>,
    /// By class: root nodes with cumulative probabilities.
    pub(crate) roots: Vec<Vec<(f64, u32)>>,
    /// By class, by service: next nodes with cumulative probabilities (routing matrices only).
    pub(crate) routes: Vec<Vec<Vec<(f64, u32)>>>,
    /// By class, by service: attempts that a request needs when all is well and caches are warm.
    pub(crate) floor: Vec<Vec<f64>>,
    /// Timeouts with a lane of their own.
    pub(crate) lanes: usize,
    /// Whether some service cancels abandoned work, so that calls must be found from above.
    pub(crate) cancels: bool,
    /// Whether some caller listens to what callees say about themselves.
    pub(crate) listens: bool,
    /// By instance: its service.
    pub(crate) service_of: Vec<u32>,
    /// Whether some service has a pool of connections; fails over; calls in another class.
    pub(crate) pools: bool,
    pub(crate) fails_over: bool,
    pub(crate) lends: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ServicePlan {
    /// Workers per instance; `u32::MAX`: no limit.
    pub(crate) workers: u32,
    pub(crate) instances: u32,
    pub(crate) first_station: u32,
    pub(crate) queue: u32,
    pub(crate) order: Order,
    /// Free workers may be idle although somebody waits.
    pub(crate) holds_back: bool,
    pub(crate) rule: DropRule,
    pub(crate) guard: Option<Guard>,
    pub(crate) guarded: bool,
    pub(crate) levers: bool,
    /// The edges over which it calls.
    pub(crate) calls_over: Vec<u32>,
    pub(crate) time: Sampler,
    /// Mean of `time` in nanoseconds.
    pub(crate) mean_time: u64,
    pub(crate) failure: f64,
    pub(crate) error_cost: f64,
    pub(crate) on_abandon: OnAbandon,
    pub(crate) blocking: bool,
    /// Whether it has a capacity at all.
    pub(crate) limited: bool,
    /// Whether its instances can differ.
    pub(crate) fleet: bool,
    /// Roots of the calls that an instance makes for itself, and the node of its error log;
    /// `NONE`: it makes none.
    pub(crate) start_root: u32,
    pub(crate) lease_root: u32,
    pub(crate) log_node: u32,
    /// The class of its calls, whatever it works on.
    pub(crate) calls_as: Option<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct CachePlan {
    pub(crate) hit_rate: f64,
    pub(crate) hot_keys: u32,
    pub(crate) fill_late: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct EdgePlan {
    pub(crate) timeout: u64,
    pub(crate) deadline: u64,
    pub(crate) travels: bool,
    pub(crate) retry: Retry,
    pub(crate) budget: Budget,
    pub(crate) gates: EdgeGates,
    pub(crate) gated: bool,
    /// What the callee says to those it turns away, where this caller heeds it.
    pub(crate) pushback: Option<Pushback>,
    pub(crate) needs: Nanos,
    pub(crate) lane: u8,
}

impl EdgePlan {
    /// `said`: what the callee says to those it turns away.
    fn new(policy: &Policy, said: Option<Pushback>, lane: u8) -> Self {
        let gates = EdgeGates::new(policy);
        Self {
            timeout: policy.timeout.map_or(NEVER, |t| t.0),
            deadline: policy.deadline.unwrap_or(Nanos::MAX).0,
            travels: policy.deadline_travels,
            retry: policy.narrowed_retry(),
            budget: policy.budget.initial.clone(),
            gated: gates.any(),
            gates,
            pushback: said.filter(|_| policy.heeds_pushback),
            needs: policy.needs,
            lane,
        }
    }
}

/// How a call reaches its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Directly.
    Nothing,
    /// The caller looks into this cache first.
    LookAside(u32),
    /// This cache fetches for the caller; the second number is the root node of its fetch.
    ReadThrough(u32, u32),
    /// The fetch of this cache: not a call, but what makes one.
    Fetch(u32),
    /// What an instance does for itself: not a call, but what makes one.
    Chore,
}

/// A place in a call tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Whom it calls; `NONE` for roots (the client, and fetches of caches).
    pub(crate) service: u32,
    pub(crate) through: Route,
    pub(crate) edge: u32,
    pub(crate) times: u32,
    pub(crate) chance: f64,
    /// Range of `Plan::steps`.
    pub(crate) steps: (u32, u32),
    /// What comes next is drawn from the routing matrix instead.
    pub(crate) routed: bool,
    /// The same place at the service that takes over, and back; `NONE`: there is none.
    pub(crate) away: u32,
    pub(crate) home: u32,
}

impl Node {
    fn root(steps: (u32, u32)) -> Self {
        Self {
            service: NONE,
            through: Route::Nothing,
            edge: NONE,
            times: 1,
            chance: 1.0,
            steps,
            routed: false,
            away: NONE,
            home: NONE,
        }
    }
}

impl Plan {
    /// Compiles a system.
    #[must_use]
    pub fn new(system: &System) -> Self {
        let mut builder = Builder { system, edge_of: HashMap::new(), plan: Self::empty(system) };
        builder.edges();
        match &system.work {
            Work::Requests(types) => {
                let mut roots = Vec::new();
                for request in types {
                    let steps = builder.steps(Caller::Client, &request.steps);
                    builder.plan.nodes.push(Node::root(steps));
                    roots.push((builder.plan.nodes.len() - 1) as u32);
                }
                builder.plan.roots = (0..system.classes.len())
                    .map(|class| {
                        let shares = types.iter().zip(&roots).map(|(t, r)| (t.share[class], *r));
                        cumulative(shares.collect())
                    })
                    .collect();
            }
            Work::Routes(routes) => builder.routes(routes),
        }
        builder.mechanisms();
        let mut plan = builder.plan;
        for (edge, (caller, _)) in plan.ends.iter().enumerate() {
            if let Caller::Service(s) = caller {
                plan.services[s.0 as usize].calls_over.push(edge as u32);
            }
        }
        plan.floor = crate::floor::floor(system);
        plan
    }

    /// The system it was compiled from.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Who calls whom, in the order of [`crate::Outcome::edges`].
    #[must_use]
    pub fn edge_ends(&self) -> &[(Caller, Target)] {
        &self.ends
    }

    /// How long the retries of one request can go on at the most, nested ones included,
    /// nanoseconds: a caller that has been given up still retries.
    pub(crate) fn loop_time(&self) -> u64 {
        let own = |node: &Node| {
            let Some(edge) = self.edges.get(node.edge as usize) else {
                return 0;
            };
            let timeout = if edge.timeout == NEVER { 0 } else { edge.timeout };
            // Beyond a hundred retries the caller of this caps it anyway.
            (0..=edge.retry.limits.max().min(100)).fold(0u64, |sum, n| {
                let wait = if n == 0 { 0 } else { edge.retry.backoff.longest(n).0 };
                sum.saturating_add(timeout).saturating_add(wait)
            })
        };
        // Children come after their parents' steps were compiled or before; a memo over the
        // tree needs no order because trees are finite.
        let mut memo = vec![None; self.nodes.len()];
        let mut stack: Vec<u32> = (0..self.nodes.len() as u32).collect();
        while let Some(n) = stack.pop() {
            if memo[n as usize].is_some() {
                continue;
            }
            let node = &self.nodes[n as usize];
            let steps = &self.steps[node.steps.0 as usize..node.steps.1 as usize];
            let children = steps.iter().flat_map(|(a, b)| *a..*b);
            let open: Vec<u32> = children.clone().filter(|c| memo[*c as usize].is_none()).collect();
            if open.is_empty() {
                let below = children.filter_map(|c| memo[c as usize]).max().unwrap_or(0u64);
                memo[n as usize] = Some(own(node).saturating_add(below));
            } else {
                stack.push(n);
                stack.extend(open);
            }
        }
        memo.into_iter().flatten().max().unwrap_or(0)
    }

    fn empty(system: &System) -> Self {
        let mut first_station = 0;
        let tells = system.listens();
        let thresholds = system.services.iter().filter_map(|s| s.admission.as_ref());
        let listens = tells || thresholds.into_iter().any(|a| a.initial.threshold().is_some());
        let mut service_of = Vec::new();
        let services = system.services.iter().enumerate().map(|(i, s)| {
            let restarted = system.restarts(ServiceId(i as u32));
            let plan = ServicePlan {
                fleet: s.mechanisms.moves_instances() || restarted,
                ..service_plan(s, first_station, tells)
            };
            first_station += plan.instances;
            service_of.extend(std::iter::repeat_n(i as u32, plan.instances as usize));
            plan
        });
        let services = services.collect();
        let mechanisms = || system.services.iter().map(|s| &s.mechanisms);
        Self {
            services,
            service_of,
            pools: mechanisms().any(|m| m.pool.is_some()),
            fails_over: mechanisms().any(|m| m.failover.is_some()),
            lends: mechanisms().any(|m| m.calls_as.is_some()),
            caches: system
                .caches
                .iter()
                .map(|c| CachePlan {
                    hit_rate: c.hit_rate,
                    hot_keys: c.hot_keys,
                    fill_late: c.fill == Fill::Always,
                })
                .collect(),
            edges: Vec::new(),
            ends: Vec::new(),
            nodes: Vec::new(),
            steps: Vec::new(),
            roots: Vec::new(),
            routes: Vec::new(),
            floor: Vec::new(),
            lanes: 0,
            listens,
            cancels: system.services.iter().any(|s| s.on_abandon == OnAbandon::Cancel),
            system: system.clone(),
        }
    }
}

fn service_plan(s: &Service, first_station: u32, tells: bool) -> ServicePlan {
    let order = s.order_with_shares();
    let guard = Guard::new(s, tells);
    ServicePlan {
        workers: s.workers.unwrap_or(u32::MAX),
        instances: s.most_instances().max(1),
        first_station,
        queue: s.queue.unwrap_or(u32::MAX),
        holds_back: order.holds_back(),
        order,
        rule: s.drop_rule(),
        guarded: guard.is_some(),
        guard,
        levers: !s.lever.is_empty(),
        calls_over: Vec::new(),
        time: Sampler::new(&s.service_time),
        mean_time: s.service_time.mean().0,
        failure: s.failure,
        error_cost: s.error_cost,
        on_abandon: s.on_abandon,
        blocking: s.blocking,
        limited: s.workers.is_some() || s.rate_limit.is_some(),
        fleet: false,
        start_root: NONE,
        lease_root: NONE,
        log_node: NONE,
        calls_as: s.mechanisms.calls_as,
    }
}

struct Builder<'a> {
    system: &'a System,
    edge_of: HashMap<(Caller, Target), u32>,
    plan: Plan,
}

impl Builder<'_> {
    fn edges(&mut self) {
        let mut lane_of: Vec<u64> = Vec::new();
        for edge in &self.system.policies.edges {
            let policy = &edge.policy;
            let timeout = policy.timeout.map_or(NEVER, |t| t.0);
            let lane = match lane_of.iter().position(|t| *t == timeout) {
                _ if timeout == NEVER => NO_LANE,
                Some(i) => i as u8,
                None if lane_of.len() < MOST_LANES => {
                    lane_of.push(timeout);
                    (lane_of.len() - 1) as u8
                }
                None => NO_LANE,
            };
            self.edge_of.insert((edge.caller, edge.target), self.plan.edges.len() as u32);
            self.plan.ends.push((edge.caller, edge.target));
            let said = self.pushback(edge.target);
            self.plan.edges.push(EdgePlan::new(policy, said, lane));
        }
        self.plan.lanes = lane_of.len();
    }

    fn pushback(&self, target: Target) -> Option<Pushback> {
        self.system.services[self.system.server_of(target).0 as usize].pushback
    }

    fn edge(&mut self, caller: Caller, target: Target) -> u32 {
        if let Some(i) = self.edge_of.get(&(caller, target)) {
            return *i;
        }
        // The loader resolves every pair of the work; a system made by hand may leave some out.
        let p = self.system.policy(caller, target);
        let i = self.plan.edges.len() as u32;
        self.plan.ends.push((caller, target));
        self.plan.edges.push(EdgePlan::new(&p, self.pushback(target), NO_LANE));
        self.edge_of.insert((caller, target), i);
        i
    }

    /// Compiles the steps of a caller; returns their range.
    fn steps(&mut self, caller: Caller, steps: &[Step]) -> (u32, u32) {
        let compiled: Vec<(u32, u32)> = steps.iter().map(|step| self.step(caller, step)).collect();
        let first = self.plan.steps.len() as u32;
        self.plan.steps.extend(compiled);
        (first, self.plan.steps.len() as u32)
    }

    /// Compiles the calls of one step next to each other.
    fn step(&mut self, caller: Caller, calls: &[Call]) -> (u32, u32) {
        let first = self.plan.nodes.len() as u32;
        for call in calls {
            let edge = self.edge(caller, call.target);
            let node = Node {
                service: self.system.server_of(call.target).0,
                edge,
                times: call.times.max(1),
                chance: call.chance,
                ..Node::root((0, 0))
            };
            self.plan.nodes.push(node);
        }
        let end = self.plan.nodes.len() as u32;
        for (i, call) in calls.iter().enumerate() {
            let server = self.system.server_of(call.target);
            let below = self.steps(Caller::Service(server), &call.steps);
            let through = self.through(call.target, server, below);
            let node = &mut self.plan.nodes[first as usize + i];
            node.steps = below;
            node.through = through;
        }
        for node in first..end {
            self.elsewhere(node);
        }
        (first, end)
    }

    /// The same call at the service that takes over when its own fails.
    fn elsewhere(&mut self, home: u32) {
        let node = &self.plan.nodes[home as usize];
        let service = self.system.services.get(node.service as usize);
        let Some(failover) = service.and_then(|s| s.mechanisms.failover) else {
            return;
        };
        let away = Node { service: failover.to.0, home, ..node.clone() };
        self.plan.nodes[home as usize].away = self.plan.nodes.len() as u32;
        self.plan.nodes.push(away);
    }

    /// The calls that instances make for themselves.
    fn mechanisms(&mut self) {
        for (s, service) in self.system.services.iter().enumerate() {
            let caller = Caller::Service(ServiceId(s as u32));
            let m = &service.mechanisms;
            if let Some((to, _)) = m.start.and_then(|s| s.calls) {
                self.plan.services[s].start_root = self.chore(caller, to);
            }
            if let Some(lease) = m.lease {
                self.plan.services[s].lease_root = self.chore(caller, lease.from);
            }
            if let Some(log) = m.error_log {
                self.plan.services[s].log_node = self.own_call(caller, log.to, log.lines);
            }
        }
    }

    fn own_call(&mut self, caller: Caller, to: ServiceId, times: u32) -> u32 {
        let edge = self.edge(caller, Target::Service(to));
        self.plan.nodes.push(Node { service: to.0, edge, times, ..Node::root((0, 0)) });
        self.plan.nodes.len() as u32 - 1
    }

    fn chore(&mut self, caller: Caller, to: ServiceId) -> u32 {
        let call = self.own_call(caller, to, 1);
        let step = self.plan.steps.len() as u32;
        self.plan.steps.push((call, call + 1));
        self.plan.nodes.push(Node { through: Route::Chore, ..Node::root((step, step + 1)) });
        self.plan.nodes.len() as u32 - 1
    }

    fn through(&mut self, target: Target, server: ServiceId, below: (u32, u32)) -> Route {
        let Target::Cache(cache) = target else {
            return Route::Nothing;
        };
        match self.system.caches[cache.0 as usize].mode {
            CacheMode::LookAside => Route::LookAside(cache.0),
            CacheMode::ReadThrough => {
                let edge = self.edge(Caller::Cache(cache), Target::Service(server));
                let call = Node { service: server.0, edge, ..Node::root(below) };
                let first = self.plan.nodes.len() as u32;
                self.plan.nodes.push(call);
                let step = self.plan.steps.len() as u32;
                self.plan.steps.push((first, first + 1));
                let fetch = Node { through: Route::Fetch(cache.0), ..Node::root((step, step + 1)) };
                self.plan.nodes.push(fetch);
                Route::ReadThrough(cache.0, first + 1)
            }
        }
    }

    fn routes(&mut self, routes: &damper_system::model::Routes) {
        let mut node_of: HashMap<(Caller, ServiceId), u32> = HashMap::new();
        for (entry, rows) in routes.entry.iter().zip(&routes.rows) {
            let mut table = Vec::new();
            for (from, row) in rows.iter().enumerate() {
                let caller = Caller::Service(ServiceId(from as u32));
                let next = row.iter().map(|(to, p)| (*p, self.routed(&mut node_of, caller, *to)));
                table.push(cumulative(next.collect()));
            }
            self.plan.routes.push(table);
            let mut roots = Vec::new();
            for (to, p) in entry {
                let node = self.routed(&mut node_of, Caller::Client, *to);
                let step = self.plan.steps.len() as u32;
                self.plan.steps.push((node, node + 1));
                self.plan.nodes.push(Node::root((step, step + 1)));
                roots.push((*p, (self.plan.nodes.len() - 1) as u32));
            }
            self.plan.roots.push(cumulative(roots));
        }
    }

    fn routed(
        &mut self,
        known: &mut HashMap<(Caller, ServiceId), u32>,
        caller: Caller,
        to: ServiceId,
    ) -> u32 {
        if let Some(node) = known.get(&(caller, to)) {
            return *node;
        }
        let edge = self.edge(caller, Target::Service(to));
        let node = self.plan.nodes.len() as u32;
        self.plan.nodes.push(Node { service: to.0, edge, routed: true, ..Node::root((0, 0)) });
        self.elsewhere(node);
        known.insert((caller, to), node);
        node
    }
}

fn cumulative(items: Vec<(f64, u32)>) -> Vec<(f64, u32)> {
    let mut sum = 0.0;
    let summed = items.into_iter().filter(|(p, _)| *p > 0.0).map(|(p, node)| {
        sum += p;
        (sum, node)
    });
    summed.collect()
}

//! What a server does with an attempt.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use damper_control::lever::{Change, Lever};
use damper_control::rate_limit::TokenBucket;
use damper_control::{Nanos, Outcome};
use damper_system::System;
use damper_system::model::{Balance, Caller, OnAbandon, Service, ServiceId, Target, Work};
use hyper::header::HeaderValue;
use tokio::task::JoinSet;

use super::caller::Calls;
use super::station::Station;
use super::{Role, Serve};
use crate::client::Ports;
use crate::clock::Clock;
use crate::counts::{Counts, Received};
use crate::draw::Stream;
use crate::lever::Pull;
use crate::tree::{Node, Tree};
use crate::trigger::Condition;
use crate::wire;

/// What is asked of a server: a call of the table, or a type of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Call(usize),
    Request(Option<usize>),
}

/// A server and all that it holds.
pub(crate) struct Server {
    system: System,
    tree: Tree,
    /// `None`: the clients.
    service: Option<ServiceId>,
    name: String,
    clock: Clock,
    ports: Ports,
    calls: Calls,
    stations: Vec<Arc<Station>>,
    turn: AtomicUsize,
    bucket: Mutex<Option<TokenBucket>>,
    condition: Mutex<Condition>,
    lever: Mutex<Lever>,
    chance: Mutex<Stream>,
    received: Mutex<Vec<Received>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    pub(crate) fn new(system: System, options: &Serve) -> std::io::Result<Self> {
        let (service, name) = match &options.role {
            Role::Client => (None, "client"),
            Role::Service(name) => {
                let at = system.services.iter().position(|s| s.name == *name);
                let unknown = || std::io::Error::other(format!("no service is called {name}"));
                (Some(ServiceId(at.ok_or_else(unknown)? as u32)), name.as_str())
            }
        };
        let name = name.to_owned();
        let clock = Clock::start();
        let ports = Ports::default();
        let index = service.map_or(0, |s| u64::from(s.0) + 1);
        let seed = system.experiment.seed;
        let who = service.map_or(Caller::Client, Caller::Service);
        let calls = Calls::new(
            &system,
            who,
            options.protocol,
            options.proxied,
            clock,
            Stream::new(seed, 2 * index),
            &ports,
        );
        let own = service.map(|s| &system.services[s.0 as usize]);
        let stations = own.map_or_else(Vec::new, |s| {
            let room = s.queue.map_or(usize::MAX, |queue| queue as usize);
            (0..s.instances)
                .map(|_| Station::new(s.workers.unwrap_or(u32::MAX), room, clock))
                .collect()
        });
        let bucket = own
            .and_then(|s| s.rate_limit)
            .and_then(|limit| TokenBucket::try_new(limit.rate, limit.burst));
        let received = system
            .classes
            .iter()
            .map(|class| Received { class: class.clone(), ..Received::default() })
            .collect();
        Ok(Self {
            tree: Tree::new(&system),
            service,
            name,
            clock,
            ports,
            calls,
            stations,
            turn: AtomicUsize::new(0),
            bucket: Mutex::new(bucket),
            condition: Mutex::new(Condition::default()),
            lever: Mutex::new(Lever::new()),
            chance: Mutex::new(Stream::new(seed, 2 * index + 1)),
            received: Mutex::new(received),
            system,
        })
    }

    fn own(&self) -> Option<&Service> {
        self.service.and_then(|s| self.system.services.get(s.0 as usize))
    }

    pub(crate) fn on_abandon(&self) -> OnAbandon {
        self.own().map_or(OnAbandon::Finish, |s| s.on_abandon)
    }

    pub(crate) fn set_peers(&self, ports: BTreeMap<String, u16>) {
        *self.ports.write().unwrap_or_else(PoisonError::into_inner) = ports;
    }

    /// The class that a header names; the lowest if it names none.
    pub(crate) fn class(&self, named: Option<&HeaderValue>) -> u8 {
        let lowest = self.system.classes.len() - 1;
        let at = |name: &HeaderValue| self.system.classes.iter().position(|class| name == class);
        named.and_then(at).unwrap_or(lowest) as u8
    }

    /// What a path asks for.
    pub(crate) fn task(&self, path: &str) -> Option<Task> {
        if self.service.is_some() {
            return wire::call_of(path)
                .filter(|node| *node < self.tree.nodes.len())
                .map(Task::Call);
        }
        match (wire::request_of(path)?, &self.system.work) {
            (None, _) | (_, Work::Routes(_)) => Some(Task::Request(None)),
            (Some(kind), Work::Requests(types)) => {
                let at = types.iter().position(|t| t.name == kind)?;
                Some(Task::Request(Some(at)))
            }
        }
    }

    pub(crate) fn arrived(&self, class: u8, attempt: u32) {
        if let Some(counts) = lock(&self.received).get_mut(usize::from(class)) {
            if attempt > 1 {
                counts.retries += 1;
            } else {
                counts.first += 1;
            }
        }
    }

    pub(crate) fn ended(&self, class: u8, outcome: Outcome) {
        if let Some(counts) = lock(&self.received).get_mut(usize::from(class)) {
            counts.ends.add(outcome);
        }
    }

    pub(crate) fn abandoned(&self, class: u8) {
        if let Some(counts) = lock(&self.received).get_mut(usize::from(class)) {
            counts.abandoned += 1;
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let received = lock(&self.received).clone();
        Counts { name: self.name.clone(), received, called: self.calls.counts() }
    }

    /// From now on it fares like this.
    pub(crate) fn set_condition(&self, condition: Condition) {
        let now = self.clock.now();
        if let Some(own) = self.own() {
            if let (Some(bucket), Some(limit)) = (lock(&self.bucket).as_mut(), own.rate_limit) {
                bucket.set_rate(now, limit.rate * condition.share);
            }
            for (i, station) in self.stations.iter().enumerate() {
                station.set_workers(workers(own, &condition, i as u64), now);
            }
        }
        *lock(&self.condition) = condition;
    }

    /// The lever at its door is pulled; the parent has made sure that it can be.
    pub(crate) fn pull(&self, pull: &Pull) {
        if let Ok(meant) = pull.understand(&self.system.classes) {
            let (action, classes) = (meant.action, meant.classes);
            let change = Change { action, classes, who: &pull.who, why: &pull.why };
            // Where it is there already, nothing changes.
            let _ = lock(&self.lever).pull(self.clock.now(), change);
        }
    }

    /// Works on an attempt: how it ended, and what was behind it.
    pub(crate) async fn work(
        self: &Arc<Self>,
        task: Task,
        class: u8,
        gone: &AtomicBool,
    ) -> (Outcome, Outcome) {
        if lock(&self.lever).admit(self.clock.now(), class).is_err() {
            return (Outcome::Shed, Outcome::Shed);
        }
        let done = match task {
            Task::Request(kind) => self.request(kind, class).await,
            Task::Call(node) => match self.serve(node, class, gone).await {
                Ok(done) => done,
                Err(own) => return (own, own),
            },
        };
        match done {
            Ok(()) => (Outcome::Success, Outcome::Success),
            // Clients pass on what was behind the failure: there is nobody between them and it.
            Err(cause) if self.service.is_none() => (cause, cause),
            Err(cause) => (Outcome::FailedBelow, cause),
        }
    }

    /// A request of the clients.
    async fn request(self: &Arc<Self>, kind: Option<usize>, class: u8) -> Result<(), Outcome> {
        let at = usize::from(class);
        match &self.system.work {
            Work::Requests(types) => {
                let share = |t: &damper_system::model::RequestType| {
                    t.share.get(at).copied().unwrap_or_default()
                };
                let kind = kind.or_else(|| lock(&self.chance).pick(types.iter().map(share)));
                match kind.and_then(|kind| self.tree.roots.get(kind)) {
                    Some(steps) => self.follow(steps, class).await,
                    None => Ok(()),
                }
            }
            Work::Routes(routes) => {
                let row = routes.entry.get(at).map_or(&[][..], Vec::as_slice);
                self.hop(row, class).await
            }
        }
    }

    /// One further call, drawn from a row, or none.
    async fn hop(self: &Arc<Self>, row: &[(ServiceId, f64)], class: u8) -> Result<(), Outcome> {
        let drawn = lock(&self.chance).pick(row.iter().map(|(_, p)| *p));
        match drawn.and_then(|i| row.get(i)) {
            Some((next, _)) => {
                self.calls.call(Target::Service(*next), next.0 as usize, class).await
            }
            None => Ok(()),
        }
    }

    /// The work of the service. `Err`: it ended here; else how the calls after it went.
    async fn serve(
        self: &Arc<Self>,
        node: usize,
        class: u8,
        gone: &AtomicBool,
    ) -> Result<Result<(), Outcome>, Outcome> {
        let (Some(own), Some(node)) = (self.own(), self.tree.nodes.get(node)) else {
            return Err(Outcome::Failed);
        };
        let latency = Nanos(lock(&self.condition).latency_ns);
        self.clock.sleep_until(self.clock.now() + latency).await;
        let refuse = lock(&self.condition).refuse;
        let now = self.clock.now();
        if refuse || lock(&self.bucket).as_mut().is_some_and(|bucket| !bucket.try_acquire(now)) {
            return Err(Outcome::Rejected);
        }
        let Some(station) = self.station(own) else { return Err(Outcome::Failed) };
        let slot = station.enter(now).await.map_err(|_| Outcome::Rejected)?;
        if gone.load(Ordering::Relaxed) && own.on_abandon != OnAbandon::Finish {
            slot.release(self.clock.now());
            return Err(Outcome::TimedOut);
        }
        let (work, fails) = self.draw(own, f64::from(slot.busy - 1));
        let end = slot.start + work;
        if work > Nanos::ZERO {
            self.clock.sleep_until(end).await;
        }
        let held = if own.blocking {
            Some(slot)
        } else {
            slot.release(end);
            None
        };
        let done = if fails { Err(Outcome::Failed) } else { Ok(self.go_on(node, class).await) };
        if let Some(slot) = held {
            slot.release(self.clock.now());
        }
        done
    }

    async fn go_on(self: &Arc<Self>, node: &Node, class: u8) -> Result<(), Outcome> {
        match &self.system.work {
            Work::Requests(_) => self.follow(&node.steps, class).await,
            Work::Routes(routes) => {
                let rows = routes.rows.get(usize::from(class));
                let row = rows.and_then(|rows| rows.get(node.service.0 as usize));
                self.hop(row.map_or(&[][..], Vec::as_slice), class).await
            }
        }
    }

    /// How long the work takes, and whether it fails.
    fn draw(&self, own: &Service, others: f64) -> (Nanos, bool) {
        let condition = lock(&self.condition).clone();
        let mut chance = lock(&self.chance);
        let time = chance.duration(&own.service_time);
        let fails = chance.chance(own.failure.max(condition.failure));
        let contention = own.contention;
        let crowd = 1.0 + contention.alpha * others + contention.beta * others * (others + 1.0);
        let cost = if fails { own.error_cost } else { 1.0 };
        (time.scale(condition.slowdown * crowd * cost), fails)
    }

    fn station(&self, own: &Service) -> Option<&Arc<Station>> {
        let n = self.stations.len().max(1);
        match own.balance {
            _ if n == 1 => self.stations.first(),
            Balance::RoundRobin => {
                self.stations.get(self.turn.fetch_add(1, Ordering::Relaxed).wrapping_add(1) % n)
            }
            Balance::Random => {
                let at = lock(&self.chance).unit() * n as f64;
                self.stations.get((at as usize).min(n - 1))
            }
            Balance::LeastLoaded => self.stations.iter().min_by_key(|station| station.load()),
        }
    }

    /// Step after step; the calls of a step at the same time, and all of them are waited for.
    async fn follow(self: &Arc<Self>, steps: &[Vec<usize>], class: u8) -> Result<(), Outcome> {
        for step in steps {
            let made: Vec<usize> = {
                let mut chance = lock(&self.chance);
                let is_made =
                    |i: &usize| self.tree.nodes.get(*i).is_some_and(|n| chance.chance(n.chance));
                step.iter().copied().filter(is_made).collect()
            };
            match made.as_slice() {
                [] => {}
                [only] => self.times(*only, class).await?,
                several => {
                    let mut calls = JoinSet::new();
                    for node in several {
                        let (server, node) = (self.clone(), *node);
                        calls.spawn(async move { server.times(node, class).await });
                    }
                    let mut first = Ok(());
                    while let Some(ended) = calls.join_next().await {
                        first = first.and(ended.unwrap_or(Err(Outcome::Failed)));
                    }
                    first?;
                }
            }
        }
        Ok(())
    }

    async fn times(&self, node: usize, class: u8) -> Result<(), Outcome> {
        let Some(n) = self.tree.nodes.get(node) else { return Err(Outcome::Failed) };
        for _ in 0..n.times {
            self.calls.call(n.target, node, class).await?;
        }
        Ok(())
    }
}

/// Workers of one instance. What is lost is a share of all workers: with one worker each, whole
/// instances go.
fn workers(own: &Service, condition: &Condition, instance: u64) -> u32 {
    match own.workers {
        _ if condition.outage => 0,
        None => u32::MAX,
        Some(workers) => {
            let instances = u64::from(own.instances.max(1));
            let all = u64::from(workers) * instances;
            let left = (all as f64 * condition.share + 0.5) as u64;
            (left / instances) as u32 + u32::from(instance < left % instances)
        }
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    #[test]
    fn what_is_lost_is_a_share_of_all_workers() {
        let text = "
damper: 1
services: {a: {workers: 1, instances: 4, service_time: 1ms}}
load: 1/s
requests: {r: {calls: [a]}}
";
        let system = SystemFile::parse("t", text).unwrap().lower().unwrap();
        let own = &system.services[0];
        let of = |condition: &Condition| (0..4).map(|i| workers(own, condition, i)).sum::<u32>();
        assert_eq!(of(&Condition::default()), 4);
        assert_eq!(of(&Condition { share: 0.25, ..Condition::default() }), 1);
        assert_eq!(of(&Condition { outage: true, ..Condition::default() }), 0);
    }
}

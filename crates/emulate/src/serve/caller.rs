//! A server as a caller: calls to others, by their policies.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use damper_control::{Budget, Failure, Nanos, Outcome, RetryBudget as _, RetryState, deadline};
use damper_system::model::{Caller as Who, Policy, System, Target};
use hyper::header::{HeaderName, HeaderValue};

use crate::client::{Answer, Client, Ports};
use crate::clock::Clock;
use crate::counts::Called;
use crate::draw::Stream;
use crate::wire::{self, Protocol};

/// Calls others.
pub(crate) struct Calls {
    client: Client,
    protocol: Protocol,
    clock: Clock,
    /// Whether somebody else (a proxy) retries.
    proxied: bool,
    classes: Vec<HeaderValue>,
    edges: BTreeMap<(u8, u32), Edge>,
    chance: Mutex<Stream>,
}

struct Edge {
    host: String,
    policy: Policy,
    budget: Mutex<Budget>,
    /// By class.
    counts: Mutex<Vec<Called>>,
}

/// Services and caches have numbers of their own.
fn key(target: Target) -> (u8, u32) {
    match target {
        Target::Service(service) => (0, service.0),
        Target::Cache(cache) => (1, cache.0),
    }
}

/// Poisoned or not: a count is a count.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Calls {
    pub(crate) fn new(
        system: &System,
        who: Who,
        protocol: Protocol,
        proxied: bool,
        clock: Clock,
        chance: Stream,
        ports: &Ports,
    ) -> Self {
        let mut edges = BTreeMap::new();
        for edge in system.policies.edges.iter().filter(|edge| edge.caller == who) {
            let (target, callee) = (edge.target, system.target_name(edge.target));
            let called = |class: &String| Called {
                callee: callee.to_owned(),
                class: class.clone(),
                ..Called::default()
            };
            let mut policy = edge.policy.clone();
            if !policy.idempotent {
                policy.retry = policy.retry.for_unsafe_calls();
            }
            let edge = Edge {
                host: callee.to_owned(),
                budget: Mutex::new(policy.budget.initial.clone()),
                policy,
                counts: Mutex::new(system.classes.iter().map(called).collect()),
            };
            edges.insert(key(target), edge);
        }
        let classes = system.classes.iter().map(|class| wire::class_value(class));
        Self {
            client: Client::new(protocol, ports),
            protocol,
            clock,
            proxied,
            classes: classes.collect(),
            edges,
            chance: Mutex::new(chance),
        }
    }

    /// Makes a call with all of its attempts. `Err`: what was behind the failure.
    pub(crate) async fn call(&self, target: Target, node: usize, class: u8) -> Result<(), Outcome> {
        let Some(edge) = self.edges.get(&key(target)) else { return Err(Outcome::Failed) };
        let path = wire::call_path(node);
        let answer = if self.proxied {
            self.send(edge, &path, class, None).await
        } else {
            self.with_retries(edge, &path, class).await
        };
        if let Some(counts) = lock(&edge.counts).get_mut(usize::from(class)) {
            counts.calls += 1;
            counts.attempts += u64::from(answer.attempts);
            counts.ends.add(answer.outcome);
        }
        match answer.outcome {
            Outcome::Success => Ok(()),
            _ => Err(answer.cause),
        }
    }

    async fn send(&self, edge: &Edge, path: &str, class: u8, attempt: Option<u32>) -> Answer {
        let failed = Answer { outcome: Outcome::Failed, cause: Outcome::Failed, attempts: 1 };
        let Some(name) = self.classes.get(usize::from(class)) else { return failed };
        let Ok(mut request) = wire::request(self.protocol, &edge.host, path, name) else {
            return failed;
        };
        if let Some(attempt) = attempt {
            let name: HeaderName = wire::ATTEMPT;
            request.headers_mut().insert(name, HeaderValue::from(attempt));
        }
        self.client.send(request).await
    }

    /// The caller's own retries, by the controls that the simulator has.
    async fn with_retries(&self, edge: &Edge, path: &str, class: u8) -> Answer {
        let policy = &edge.policy;
        let until = policy.deadline.map(|total| self.clock.now() + total);
        let mut state = RetryState::default();
        loop {
            let number = state.retries + 1;
            lock(&edge.budget).start(self.clock.now(), state.attempt(class));
            let sent = self.send(edge, path, class, Some(number));
            let gives_up = deadline::gives_up_at(self.clock.now(), policy.timeout, until);
            let answer = match gives_up {
                None => sent.await,
                Some(at) => {
                    let within = Duration::from_nanos(at.since(self.clock.now()).0);
                    tokio::time::timeout(within, sent).await.unwrap_or(Answer {
                        outcome: Outcome::TimedOut,
                        cause: Outcome::TimedOut,
                        attempts: 1,
                    })
                }
            };
            let answer = Answer { attempts: number, ..answer };
            let now = self.clock.now();
            let failure = Failure::new(class, answer.outcome).needing(policy.needs);
            let decision = {
                let mut budget = lock(&edge.budget);
                let rng = &mut lock(&self.chance).0;
                let retryable = failure.counts(policy.retry.on);
                budget.settle(now, state.attempt(class), answer.outcome, retryable, rng);
                if answer.outcome == Outcome::Success {
                    return answer;
                }
                policy.retry.decide_with(&mut state, &mut *budget, failure, now, until, rng)
            };
            match decision {
                Ok(Nanos(0)) => {}
                Ok(delay) => self.clock.sleep_until(now + delay).await,
                Err(_) => return answer,
            }
        }
    }

    /// By callee and class.
    pub(crate) fn counts(&self) -> Vec<Called> {
        self.edges.values().flat_map(|edge| lock(&edge.counts).clone()).collect()
    }
}

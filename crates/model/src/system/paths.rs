//! The closed forms over every way to a service: hidden capacity and the worst amplification.

use std::collections::HashMap;

use damper_control::{Budget, Outcome};
use damper_system::System;
use damper_system::model::{
    Caller, OnAbandon, Policy, RequestType, ServiceId, Spec, Step, Target, Work,
};

use super::Solved;
use crate::hidden::{Bound, Path, Service, Waste};

/// Ways of one system that are followed; a routing matrix with loops has no end of them.
const MOST: usize = 100_000;

pub(super) fn fill(system: &System, solved: &mut Solved) {
    let Work::Requests(types) = &system.work else {
        solved.notes.push(
            "hidden capacity has no closed form over a routing matrix; write call trees, or simulate"
                .to_owned(),
        );
        // A hop retries nothing but its own callee's rejection, so that nothing multiplies.
        for edge in &system.policies.edges {
            let tries = bound(&edge.policy, &[Outcome::Rejected]).attempts();
            let service = &mut solved.services[system.server_of(edge.target).0 as usize];
            service.worst_amplification = service.worst_amplification.max(tries);
        }
        return;
    };
    let mut ways = Ways::of(system, types);
    if ways.count >= MOST {
        solved
            .notes
            .push("there are too many ways to follow for hidden capacity; simulate".to_owned());
        return;
    }
    // Their parameters are a percentage, the minimum, and a time.
    let minimum = |budget: &Spec<Budget>| {
        ["deposit", "finagle", "tower", "linkerd"].contains(&budget.kind)
            && budget.parameters.get(1).is_some_and(|least| *least > 0.0)
    };
    if system.policies.edges.iter().any(|e| minimum(&e.policy.budget)) {
        solved.notes.push(
            "a budget's minimum per second is not in the closed form: it lowers hidden capacity by about that much"
                .to_owned(),
        );
    }
    for (i, service) in system.services.iter().enumerate() {
        let Some(Way { paths, timeout, worst }) = ways.paths.remove(&i) else { continue };
        let visits: f64 = paths.iter().map(|p| p.visits).sum();
        let worst: f64 = worst.iter().map(|(visits, tries)| visits * tries).sum();
        solved.services[i].worst_amplification = if visits > 0.0 { worst / visits } else { 1.0 };
        // A rate limit rejects at once, before any work.
        let (Some(capacity), true) = (service.capacity(), service.workers.is_some()) else {
            continue;
        };
        let waste = match (timeout, service.queue) {
            _ if service.on_abandon == OnAbandon::Cancel && service.queue.is_none() => {
                Waste::Unbounded
            }
            (None, _) => Waste::Cancelled,
            (Some(_), None) => Waste::Unbounded,
            (Some(timeout_s), Some(queue)) => Waste::Bounded {
                places: f64::from(queue) * f64::from(service.instances),
                timeout_s,
            },
        };
        let hidden = Service { capacity, paths, waste }.hidden();
        solved.services[i].hidden_rps = hidden;
        if let Some(hidden) = hidden
            && solved.hidden_rps.is_none_or(|least| hidden < least)
        {
            (solved.hidden_rps, solved.weakest) = (Some(hidden), Some(i));
        }
    }
}

/// How one service is called: calls per request that enters the system if nobody retried, and the
/// shortest time in seconds that a caller waits. `None`: nobody calls it, or they wait for ever.
pub(super) fn demand(system: &System, service: usize) -> Option<(f64, f64)> {
    let Work::Requests(types) = &system.work else { return None };
    let way = Ways::of(system, types).paths.remove(&service)?;
    Some((way.paths.iter().map(|path| path.visits).sum(), way.timeout?))
}

struct Ways<'a> {
    system: &'a System,
    /// Ways to each service, and the shortest timeout of its callers in seconds; `None`: they
    /// wait for ever, or their deadline travels, so that nothing is done in vain.
    paths: HashMap<usize, Way>,
    count: usize,
}

/// All ways to one service.
#[derive(Default)]
struct Way {
    paths: Vec<Path>,
    timeout: Option<f64>,
    /// Visits, and what they multiply to if every attempt ends in a way that is retried.
    worst: Vec<(f64, f64)>,
}

impl<'a> Ways<'a> {
    fn of(system: &'a System, types: &[RequestType]) -> Self {
        let mut ways = Self { system, paths: HashMap::new(), count: 0 };
        let total = system.total_load();
        for kind in types {
            let share: f64 =
                kind.share.iter().zip(&system.load).map(|(s, l)| s * l.mean()).sum::<f64>() / total;
            ways.steps(Caller::Client, &kind.steps, share, &[], 1.0, None);
        }
        ways
    }

    fn steps(
        &mut self,
        caller: Caller,
        steps: &[Step],
        visits: f64,
        calls: &[Bound],
        tries: f64,
        patience: Option<f64>,
    ) {
        for call in steps.iter().flatten() {
            if self.count >= MOST {
                return;
            }
            self.count += 1;
            let policy = self.system.policy(caller, call.target);
            let (server, miss) = match call.target {
                Target::Service(s) => (s, 1.0),
                // While it runs the cache stays empty.
                Target::Cache(c) => (self.system.caches[c.0 as usize].store, 1.0),
            };
            let visits = visits * call.chance * f64::from(call.times.max(1)) * miss;
            let mut calls = calls.to_vec();
            calls.push(bound(&policy, &[Outcome::TimedOut]));
            let here = tries * bound(&policy, &FAILURES).attempts();
            // What the callee itself ends happens before it calls anybody: only a retry of what
            // ended further down, or of what took too long, repeats the calls below.
            let below = match policy.timeout {
                Some(_) => &[Outcome::FailedBelow, Outcome::TimedOut][..],
                None => &[Outcome::FailedBelow][..],
            };
            let tries = tries * bound(&policy, below).attempts();
            let own = policy
                .timeout
                .filter(|_| !policy.deadline_travels)
                .map(damper_control::Nanos::as_secs_f64);
            let patience = match (own, patience) {
                (Some(a), Some(b)) => Some(f64::min(a, b)),
                (a, b) => a.or(b),
            };
            let entry = self.paths.entry(server.0 as usize).or_default();
            entry.paths.push(Path { visits, calls: calls.clone() });
            entry.worst.push((visits, here));
            entry.timeout = match (entry.timeout, patience) {
                (Some(a), Some(b)) => Some(f64::min(a, b)),
                (a, b) => a.or(b),
            };
            let below = Caller::Service(ServiceId(server.0));
            self.steps(below, &call.steps, visits, &calls, tries, patience);
        }
    }
}

/// Ends that a retry can follow.
const FAILURES: [Outcome; 5] =
    [Outcome::Rejected, Outcome::TimedOut, Outcome::Failed, Outcome::FailedBelow, Outcome::Shed];

/// What bounds the retries of a call while everything below it ends in one of these ways.
fn bound(policy: &Policy, ends: &[Outcome]) -> Bound {
    let limit = policy.retry.limits.max();
    let on = policy.retry.on;
    let on = if policy.idempotent { on } else { on.for_unsafe_calls() };
    if !ends.iter().any(|end| on.contains(*end)) {
        return Bound::Limit(0);
    }
    match policy.budget.retries_while_all_fail() {
        None => Bound::Limit(limit),
        Some(0.0) => Bound::Bucket,
        Some(ratio) => Bound::Ratio { limit, ratio },
    }
}

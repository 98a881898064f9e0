//! What a system file says about the loop through a hop: how many attempts arrive for one request
//! while all of them fail, and what can be served.
//!
//! The same closed form as the analytic model has, Π (1 + k) along the calls, for the states of
//! `docs/observe.md`. A service that cannot waste work has no loop, and a gain of 1.

use std::collections::HashSet;

use damper_control::Outcome;
use damper_system::System;
use damper_system::model::{Caller, Edge, Policy, ServiceId, Target};

use crate::hop::Outlook;

/// Attempts for each call of a class while every attempt times out.
#[must_use]
pub fn attempts(policy: &Policy, class: u8) -> f64 {
    let on = policy.retry.on;
    let on = if policy.idempotent { on } else { on.for_unsafe_calls() };
    if !on.contains(Outcome::TimedOut) {
        return 1.0;
    }
    let limit = f64::from(policy.retry.limits.limit(class));
    1.0 + policy.budget.retries_while_all_fail().map_or(limit, |most| most.min(limit))
}

/// The outlook of the calls of an edge that the file writes as `caller -> callee`. `None`: the
/// system has no such call.
#[must_use]
pub fn outbound(system: &System, edge: &str) -> Option<Outlook> {
    let edge = system.edge_named(edge)?;
    let callee = system.server_of(edge.target);
    let own = |class| attempts(&edge.policy, class);
    Some(outlook(system, callee, own, 1.0))
}

/// The outlook of one instance of a service. `None`: the system has no such service.
#[must_use]
pub fn inbound(system: &System, service: &str) -> Option<Outlook> {
    let index = system.services.iter().position(|s| s.name == service)?;
    let callee = ServiceId(u32::try_from(index).ok()?);
    let instances = f64::from(system.services[index].instances.max(1));
    let all = |class| arriving(system, callee, class, &mut HashSet::new());
    Some(outlook(system, callee, all, instances))
}

fn outlook(system: &System, callee: ServiceId, gain: impl Fn(u8) -> f64, share: f64) -> Outlook {
    let classes = u8::try_from(system.classes.len().max(1)).unwrap_or(u8::MAX);
    let loops = wastes(system, callee);
    let gain = (0..classes).map(|class| if loops { gain(class) } else { 1.0 }).collect();
    let capacity = system.services[callee.0 as usize].capacity().map(|all| all / share);
    Outlook { gain, capacity }
}

fn calls(system: &System, callee: ServiceId) -> impl Iterator<Item = &Edge> {
    system.policies.edges.iter().filter(move |edge| system.server_of(edge.target) == callee)
}

/// Attempts that arrive at a service for one request, along the way with the most.
fn arriving(system: &System, callee: ServiceId, class: u8, on: &mut HashSet<u32>) -> f64 {
    // A call that leads back to where it came from multiplies no further.
    if !on.insert(callee.0) {
        return 1.0;
    }
    let most = calls(system, callee).map(|edge| {
        let above = match edge.caller {
            Caller::Client => 1.0,
            Caller::Service(service) => arriving(system, service, class, on),
            Caller::Cache(cache) => calls_of_cache(system, cache, class, on),
        };
        above * attempts(&edge.policy, class)
    });
    let most = most.fold(1.0, f64::max);
    on.remove(&callee.0);
    most
}

fn calls_of_cache(
    system: &System,
    cache: damper_system::model::CacheId,
    class: u8,
    on: &mut HashSet<u32>,
) -> f64 {
    let to = system.policies.edges.iter().filter(|edge| edge.target == Target::Cache(cache));
    let most = to.map(|edge| match edge.caller {
        Caller::Service(service) => {
            arriving(system, service, class, on) * attempts(&edge.policy, class)
        }
        Caller::Client | Caller::Cache(_) => attempts(&edge.policy, class),
    });
    most.fold(1.0, f64::max)
}

/// Whether a service can work for callers that gave up: they do give up, and its queue holds more
/// than one timeout's worth of work.
fn wastes(system: &System, callee: ServiceId) -> bool {
    let service = &system.services[callee.0 as usize];
    let gives_up = calls(system, callee).filter(|edge| !edge.policy.deadline_travels);
    let patience = gives_up.filter_map(|edge| edge.policy.timeout).min();
    match (patience, service.queue, service.capacity()) {
        (None, ..) => false,
        (Some(timeout), Some(queue), Some(capacity)) => {
            let places = f64::from(queue) * f64::from(service.instances.max(1));
            places > timeout.as_secs_f64() * capacity
        }
        (Some(_), ..) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_system::SystemFile;

    const FILE: &str = "\
damper: 1
name: shop
classes: [high, low]
services:
  front: {workers: 100, service_time: 1ms}
  db: {workers: 30, service_time: 100ms, queue: 1000, instances: 2}
load: {high: 10/s, low: 10/s}
requests:
  get: {calls: [{front: [db]}]}
policies:
  front: {timeout: 2s, retry: {limit: 1}}
  db:
    timeout: 1s
    retry: {limit: {high: 3, low: 1}}
";

    fn system(file: &str) -> System {
        SystemFile::parse("shop.yaml", file).unwrap().lower().unwrap()
    }

    #[test]
    fn gains_multiply_along_the_way_and_capacity_is_shared_by_instances() {
        let system = system(FILE);
        // 30 workers / 0.1 s = 300/s for an instance; 1000 places hold more than 1 s of it.
        let out = outbound(&system, "front -> db").unwrap();
        assert_eq!(out, Outlook { gain: vec![4.0, 2.0], capacity: Some(600.0) });
        // The clients' one retry repeats what front retries.
        let at_db = inbound(&system, "db").unwrap();
        assert_eq!(at_db, Outlook { gain: vec![8.0, 4.0], capacity: Some(300.0) });
        assert!(
            inbound(&system, "nothing").is_none() && outbound(&system, "db -> front").is_none()
        );
    }

    #[test]
    fn budgets_short_queues_and_deadlines_break_the_loop() {
        for (from, to, gain) in [
            // A bucket that nothing fills is empty; a ratio of 20 % permits 0.25 for each first.
            ("limit: {high: 3, low: 1}", "limit: 3, budget: {kind: token-bucket}", 1.0),
            ("limit: {high: 3, low: 1}", "limit: 3, budget: {kind: ratio, percent: 20%}", 1.25),
            ("limit: {high: 3, low: 1}", "limit: 3, budget: {kind: deposit, percent: 10%}", 1.1),
            // 300 places for an instance are served within the timeout.
            ("queue: 1000", "queue: 300", 1.0),
            ("timeout: 1s", "timeout: 1s\n    deadline: {travels: true}", 1.0),
        ] {
            let file = FILE.replace(from, to);
            assert_ne!(file, FILE, "{from}");
            let out = outbound(&system(&file), "front -> db").unwrap();
            assert!((out.gain(0) - gain).abs() < 1e-9, "{to}: {:?}", out.gain);
        }
    }
}

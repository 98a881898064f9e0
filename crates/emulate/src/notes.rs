//! What a file asks for and an emulation does otherwise, one line for each.

use damper_system::System;
use damper_system::model::{ActionKind, CacheMode};

use crate::envoy;
use crate::run::Retries;

/// Everything that is done otherwise.
pub(crate) fn notes(system: &System, retries: &Retries) -> Vec<String> {
    let mut all = Vec::new();
    for service in &system.services {
        let name = &service.name;
        let absent = [
            (service.order.kind != "fifo", "order"),
            (service.drop.is_some(), "drop"),
            (service.admission.is_some(), "admission"),
            (service.concurrency.is_some(), "concurrency"),
            (service.pushback.is_some(), "pushback"),
            (!service.lever.is_empty(), "lever"),
        ];
        let absent: Vec<&str> =
            absent.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
        if !absent.is_empty() {
            all.push(format!(
                "{name}: {} left out; attempts are let in and wait first in, first out",
                absent.join(", ")
            ));
        }
    }
    for cache in &system.caches {
        let name = &cache.name;
        all.push(format!(
            "{name}: the cache is a share of {:.0} % of calls that are not made; it is never cold",
            cache.hit_rate * 100.0
        ));
        if cache.mode == CacheMode::ReadThrough {
            all.push(format!("{name}: its callers ask the store themselves, each for itself"));
        }
    }
    for trigger in &system.triggers {
        let flushes =
            |a: &damper_system::model::Action| matches!(a.kind, ActionKind::CacheFlush { .. });
        if trigger.actions.iter().any(flushes) {
            all.push(format!("{}: nothing is flushed, as caches are never cold", trigger.name));
        }
    }
    match retries {
        Retries::Servers => {
            for edge in &system.policies.edges {
                let policy = &edge.policy;
                if policy.throttle.is_some() || policy.breaker.is_some() {
                    all.push(format!(
                        "{} -> {}: throttle and breaker of the caller are left out",
                        system.caller_name(edge.caller),
                        system.target_name(edge.target)
                    ));
                }
                if policy.deadline_travels {
                    all.push(format!(
                        "{} -> {}: the deadline stays with the caller",
                        system.caller_name(edge.caller),
                        system.target_name(edge.target)
                    ));
                }
            }
        }
        Retries::Envoy { .. } | Retries::Filter { .. } => all.extend(envoy::remarks(system)),
    }
    all
}

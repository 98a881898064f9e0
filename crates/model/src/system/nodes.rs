//! A service of the file as a node of the model.

use damper_system::System;
use damper_system::model::Service;

use super::Solved;
use crate::node::{Finite, Fluid, Node};

/// How a service rejects: a rate limit is the fluid model, a queue with an end M/M/c/K, and a queue
/// without an end rejects nothing. (The mixed model of the publication is an approximation of
/// M/M/c/K that is cheaper above capacity, and not monotone where classes share a service.)
pub(super) fn of(service: &Service) -> Node {
    if let Some(limit) = service.rate_limit {
        return Fluid::try_new(limit.rate).map_or(Node::Unlimited, Node::Fluid);
    }
    let queue = shape(service).and_then(|(capacity, workers, places)| {
        Finite::try_new(capacity, workers, places).map(Node::Finite)
    });
    queue.unwrap_or(Node::Unlimited)
}

/// Capacity, workers and places of a service that has an end, all instances together.
fn shape(service: &Service) -> Option<(f64, u32, u64)> {
    let (capacity, workers) = (service.capacity()?, service.workers?);
    let instances = service.instances.max(1);
    let places = (u64::from(workers) + u64::from(service.queue?)) * u64::from(instances);
    Some((capacity, workers.saturating_mul(instances), places))
}

/// The probability that a service rejects an attempt when this many come per second, retries
/// included.
pub(super) fn blocking(service: &Service, attempts: f64) -> f64 {
    let fluid = |capacity: f64| if attempts > capacity { 1.0 - capacity / attempts } else { 0.0 };
    if let Some(limit) = service.rate_limit {
        return fluid(limit.rate);
    }
    let Some((capacity, workers, places)) = shape(service) else {
        return 0.0;
    };
    Finite::try_new(capacity, workers, places)
        .map_or(0.0, |node| node.blocking(attempts).probability())
}

/// What a reader has to know about the services.
pub(super) fn remarks(system: &System, solved: &mut Solved) {
    for (service, s) in system.services.iter().zip(&solved.services) {
        if s.utilisation.is_some_and(|u| u > 1.0 + 1e-9) {
            solved.notes.push(format!(
                "`{}` gets {:.0} % of what it can serve and has no end of its queue: everybody waits for ever longer, and callers time out; simulate it",
                service.name,
                100.0 * s.utilisation.unwrap_or_default(),
            ));
        }
    }
}

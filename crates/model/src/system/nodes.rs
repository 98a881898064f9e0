//! A service of the file as a node of the model.

use damper_system::System;
use damper_system::model::Service;

use super::Solved;
use crate::node::{Finite, Fluid, Mixed, Node};

/// How a service rejects: a rate limit is the fluid model, a queue with an end the mixed one, and
/// a queue without an end rejects nothing.
pub(super) fn of(service: &Service) -> Node {
    if let Some(limit) = service.rate_limit {
        return Fluid::try_new(limit.rate).map_or(Node::Unlimited, Node::Fluid);
    }
    let queue = shape(service).and_then(|(capacity, workers, places)| {
        Mixed::try_new(capacity, workers, places).map(Node::Mixed)
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

/// The probability that a service rejects an attempt when this many come per second, `requests`
/// first ones and their retries. It agrees with [`of`]: whether the mixed model takes the queue or the
/// fluid depends on the first ones alone.
pub(super) fn blocking(service: &Service, attempts: f64, requests: f64) -> f64 {
    let fluid = |capacity: f64| if attempts > capacity { 1.0 - capacity / attempts } else { 0.0 };
    if let Some(limit) = service.rate_limit {
        return fluid(limit.rate);
    }
    let Some((capacity, workers, places)) = shape(service) else {
        return 0.0;
    };
    let queue = |load: f64| {
        Finite::try_new(capacity, workers, places)
            .map_or(0.0, |node| node.blocking(load).probability())
    };
    if requests <= capacity {
        return queue(attempts);
    }
    queue(attempts * capacity / requests).max(fluid(capacity))
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
        if service.instances > 1 && service.queue.is_some() {
            solved.notes.push(format!(
                "`{}` is taken for one queue before all workers; with a queue at each of its {} instances it rejects a little more",
                service.name, service.instances,
            ));
        }
    }
    if solved
        .services
        .iter()
        .zip(&system.services)
        .any(|(_, s)| s.admission.is_some() || s.concurrency.is_some() || s.drop.is_some())
    {
        solved.notes.push("admission rules, concurrency limits and drop rules are not in the analytic model; simulate them".to_owned());
    }
}

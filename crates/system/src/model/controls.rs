//! The controls of a system in their initial state, as whoever enforces them starts with them:
//! the simulator, the tower layers.

use damper_control::concurrency::{Limiter, Shares};
use damper_control::guard::Guard;
use damper_control::overload::Detector;
use damper_control::queue::Order;
use damper_control::who::CLASSES;
use damper_control::{Retry, queue};

use super::{Edge, Policy, Service, System};

impl Service {
    /// What decides at the door of one instance. `tells`: somebody listens to its word
    /// OVERLOADED, which it can only say with workers that are counted.
    #[must_use]
    pub fn guard(&self, tells: bool) -> Guard {
        let shares = self.shares.as_ref().map(|given| {
            let mut shares: Shares = [0.0; CLASSES];
            shares.iter_mut().zip(given).for_each(|(share, given)| *share = *given);
            shares
        });
        let limit = self.concurrency.as_ref().map(|spec| spec.initial.clone());
        let detector = self.overloaded.filter(|_| tells && self.workers.is_some());
        Guard {
            admission: self.admission.as_ref().map(|spec| spec.initial.clone()),
            limiter: limit.and_then(|limit| Limiter::try_new(limit, shares)),
            detector: detector
                .and_then(|d| Detector::try_new(d.queue * 100.0, d.cpu * 100.0, d.hold)),
        }
    }

    /// The order of service; where it has a level for each class, with the shares of these.
    #[must_use]
    pub fn order_with_shares(&self) -> Order {
        match (&self.order.initial, &self.shares) {
            (Order::Apf(apf), Some(shares)) => {
                apf.with_shares(shares).map_or_else(|| self.order.initial.clone(), Into::into)
            }
            (order, _) => order.clone(),
        }
    }

    /// Which waiting attempts are dropped.
    #[must_use]
    pub fn drop_rule(&self) -> queue::DropRule {
        let keep = queue::DropRule::Keep(queue::Keep);
        self.drop.as_ref().map_or(keep, |spec| spec.initial.clone())
    }
}

impl Policy {
    /// Limits, outcomes and backoff, narrowed to what may be retried if a call may not be made
    /// twice.
    #[must_use]
    pub fn narrowed_retry(&self) -> Retry {
        let retry = self.retry.clone();
        if self.idempotent { retry } else { retry.for_unsafe_calls() }
    }
}

impl System {
    /// The edge that the file writes like this: `caller -> callee`.
    #[must_use]
    pub fn edge_named(&self, name: &str) -> Option<&Edge> {
        let (caller, target) = name.split_once("->")?;
        let (caller, target) = (caller.trim(), target.trim());
        self.policies.edges.iter().find(|edge| {
            self.caller_name(edge.caller) == caller && self.target_name(edge.target) == target
        })
    }

    /// Whether somebody listens when a service says OVERLOADED.
    #[must_use]
    pub fn listens(&self) -> bool {
        use damper_control::RetryBudget as _;
        self.policies.edges.iter().any(|edge| edge.policy.budget.initial.listens())
    }
}

#[cfg(test)]
mod tests {
    use crate::SystemFile;

    #[test]
    fn controls_are_found_by_the_names_of_the_file() {
        let text = "\
damper: 1
name: two
services:
  a: {}
  b: {workers: 2, queue: 10, service_time: 10ms, concurrency: {kind: fixed, limit: 5}}
load: 10/s
requests:
  get: {calls: [{a: [b]}]}
policies:
  b: {idempotent: false, retry: {limit: 2}}
";
        let system = SystemFile::parse("two.yaml", text).unwrap().lower().unwrap();
        let edge = system.edge_named("a -> b").unwrap();
        assert_eq!(edge.policy.narrowed_retry().limits.limit(0), 2);
        assert!(!edge.policy.narrowed_retry().on.contains(damper_control::Outcome::Failed));
        assert!(system.edge_named("b -> a").is_none() && system.edge_named("a").is_none());
        let guard = system.services[1].guard(true);
        assert!(guard.limiter.is_some() && guard.admission.is_none());
        assert!(!system.services[0].guard(true).is_there() && !system.listens());
    }
}

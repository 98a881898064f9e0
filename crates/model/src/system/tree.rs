//! Call trees, solved as such.
//!
//! One attempt at a callee is rejected with its s̄, or fails by itself or below, or succeeds. With
//! q the probability that an attempt ends in a way that its policy retries, a call makes
//! A = 1 + q + … + q^k attempts and succeeds with probability A × (what one attempt succeeds with).
//! The steps of an attempt are taken one after another as long as they succeed; the calls of one
//! step are made together, whatever becomes of the others. Attempts at a service are the sum over
//! its calls of (times that the caller gets there) × A; s̄ is where the service's blocking at that
//! load agrees with it, found service by service until nothing moves.

use damper_control::Outcome;
use damper_system::System;
use damper_system::model::{Call, Caller, RequestType, Step, Target};

use super::{ClassSolved, ServiceSolved, Solved, nodes};
use crate::network::Uniqueness;

/// Rounds over all services, and halvings within one.
const ROUNDS: usize = 2_000;
const HALVINGS: usize = 60;
const TOLERANCE: f64 = 1e-12;

/// What the trees come to at given rejections.
#[derive(Clone, Debug)]
struct Flow {
    /// Completion by class.
    completion: Vec<f64>,
    /// Attempts per second, by service and class.
    attempts: Vec<Vec<f64>>,
}

pub(super) fn solve(system: &System, types: &[RequestType]) -> Solved {
    let n = system.services.len();
    let mut s = vec![0.0; n];
    let (mut rounds, mut moved) = (0, f64::INFINITY);
    while moved > TOLERANCE && rounds < ROUNDS {
        rounds += 1;
        moved = 0.0;
        for i in 0..n {
            let now = settle(system, types, &mut s, i);
            moved = f64::max(moved, (now - s[i]).abs());
            s[i] = now;
        }
    }
    let flow = flow(system, types, &s);
    let healthy = flow_of(system, types, &vec![0.0; n], true);
    let sum = |rows: &[f64]| rows.iter().sum::<f64>();
    let load = system.total_load();
    let limited = |i: &usize| system.services[*i].capacity().is_some();
    // An empty sum of floats is -0.
    let calls = |flow: &Flow| {
        (0..n).filter(limited).map(|i| sum(&flow.attempts[i])).fold(0.0, |a, b| a + b) / load
    };
    let good: f64 =
        flow.completion.iter().zip(&system.load).map(|(c, l)| c * l.mean()).sum::<f64>() / load;
    let per_request = calls(&flow);
    // At rest every service agrees with the blocking at its load.
    let residual = (0..n)
        .map(|i| (nodes::blocking(&system.services[i], sum(&flow.attempts[i])) - s[i]).abs())
        .fold(0.0, f64::max);
    Solved {
        classes: flow
            .completion
            .iter()
            .map(|c| ClassSolved { rejection: 1.0 - c, completion: *c })
            .collect(),
        services: (0..n)
            .map(|i| {
                let (all, least) = (sum(&flow.attempts[i]), sum(&healthy.attempts[i]));
                ServiceSolved {
                    s: s[i],
                    attempts_rps: flow.attempts[i].clone(),
                    utilisation: system.services[i].capacity().map(|c| all * (1.0 - s[i]) / c),
                    amplification: if least > 0.0 { all / least } else { 1.0 },
                    worst_amplification: 1.0,
                    hidden_rps: None,
                }
            })
            .collect(),
        calls_per_request: per_request,
        calls_per_success: (good > 0.0).then(|| per_request / good),
        floor_calls_per_request: calls(&healthy),
        hidden_rps: None,
        weakest: None,
        // The services of a tree are not numbered in an order that makes one pass enough, and no
        // published condition covers retries from above.
        unique: if rounds <= 2 { Uniqueness::NoLoop } else { Uniqueness::NotGuaranteed },
        iterations: rounds,
        residual,
        converged: moved <= TOLERANCE,
        notes: Vec::new(),
    }
}

/// s̄ of one service where its blocking agrees with its load, all others as they are.
fn settle(system: &System, types: &[RequestType], s: &mut [f64], i: usize) -> f64 {
    let service = &system.services[i];
    let before = s[i];
    let mut excess = |x: f64| {
        s[i] = x;
        let attempts: f64 = flow(system, types, s).attempts[i].iter().sum();
        nodes::blocking(service, attempts) - x
    };
    let (mut low, mut high) = (0.0, 1.0);
    if excess(0.0) <= 0.0 {
        high = 0.0;
    }
    for _ in 0..HALVINGS {
        if high - low <= f64::EPSILON {
            break;
        }
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    s[i] = before;
    0.5 * (low + high)
}

fn flow(system: &System, types: &[RequestType], s: &[f64]) -> Flow {
    flow_of(system, types, s, false)
}

/// `healthy`: nothing fails and caches are warm.
fn flow_of(system: &System, types: &[RequestType], s: &[f64], healthy: bool) -> Flow {
    let classes = system.classes.len();
    let mut flow = Flow {
        completion: vec![0.0; classes],
        attempts: vec![vec![0.0; classes]; system.services.len()],
    };
    for class in 0..classes {
        let mut walk = Walk { system, s, class, healthy, attempts: &mut flow.attempts };
        let rate = system.load[class].mean();
        for kind in types {
            let share = kind.share[class];
            let success = walk.steps(Caller::Client, &kind.steps, rate * share);
            flow.completion[class] += share * success;
        }
    }
    flow
}

struct Walk<'a> {
    system: &'a System,
    s: &'a [f64],
    class: usize,
    healthy: bool,
    attempts: &'a mut [Vec<f64>],
}

impl Walk<'_> {
    /// The steps of an attempt that gets to them `rate` times per second: the probability that
    /// all succeed.
    fn steps(&mut self, caller: Caller, steps: &[Step], rate: f64) -> f64 {
        let mut so_far = 1.0;
        for step in steps {
            let here = rate * so_far;
            // Calls of one step are made whatever becomes of the others.
            so_far *= step.iter().map(|call| self.call(caller, call, here)).product::<f64>();
        }
        so_far
    }

    /// One call, made `times` in a row with some chance: the probability that it succeeds.
    fn call(&mut self, caller: Caller, call: &Call, rate: f64) -> f64 {
        let mut all = 1.0;
        for _ in 0..call.times.max(1) {
            all *= self.once(caller, call, rate * call.chance * all);
        }
        1.0 - call.chance * (1.0 - all)
    }

    fn once(&mut self, caller: Caller, call: &Call, rate: f64) -> f64 {
        let (server, miss) = match call.target {
            Target::Service(s) => (s.0 as usize, 1.0),
            // A warm cache answers what it holds.
            Target::Cache(c) => {
                let cache = &self.system.caches[c.0 as usize];
                (cache.store.0 as usize, 1.0 - cache.hit_rate)
            }
        };
        let service = &self.system.services[server];
        let rejected = if self.healthy { 0.0 } else { self.s[server] };
        let breaks = if self.healthy { 0.0 } else { service.failure };
        // Attempts at the steps below depend on how often this is retried, which depends on
        // whether they succeed: a first walk without a load finds out.
        let below = self.dry(Caller::Service(service_id(server)), &call.steps);
        let good = (1.0 - rejected) * (1.0 - breaks) * below;
        let policy = self.system.edge(caller, call.target).map(|e| &e.policy);
        let (mut retried, mut limit) = (0.0, 0);
        if let Some(policy) = policy.filter(|_| !self.healthy) {
            let on = if policy.idempotent {
                policy.retry.on
            } else {
                policy.retry.on.for_unsafe_calls()
            };
            let works = 1.0 - rejected;
            for (outcome, p) in [
                (Outcome::Rejected, rejected),
                (Outcome::Failed, works * breaks),
                (Outcome::FailedBelow, works * (1.0 - breaks) * (1.0 - below)),
            ] {
                retried += if on.contains(outcome) { p } else { 0.0 };
            }
            limit = policy.retry.limits.limit(self.class as u8);
        }
        let tries = geometric(retried, limit);
        let sent = rate * miss * tries;
        self.attempts[server][self.class] += sent;
        let worked = sent * (1.0 - rejected) * (1.0 - breaks);
        self.steps(Caller::Service(service_id(server)), &call.steps, worked);
        (1.0 - miss) + miss * (good * tries).min(1.0)
    }

    /// The success of steps, without their load.
    fn dry(&mut self, caller: Caller, steps: &[Step]) -> f64 {
        self.steps(caller, steps, 0.0)
    }
}

fn service_id(i: usize) -> damper_system::model::ServiceId {
    damper_system::model::ServiceId(i as u32)
}

/// 1 + q + … + q^k.
fn geometric(q: f64, limit: u32) -> f64 {
    crate::node::Rejection::from_rejected(q).attempts(limit)
}

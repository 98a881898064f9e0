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

use super::{ClassSolved, ServiceSolved, Solved, depends, nodes};
use crate::network::Uniqueness;
use crate::node::root;

/// Rounds over all services.
const ROUNDS: usize = 2_000;
/// How far s̄ of any service may move in the last round.
pub(super) const TOLERANCE: f64 = 1e-12;

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
    let Rest { s, rounds, moved } = rest(system, types, vec![0.0; n]);
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
        // No published condition covers retries from above.
        unique: if depends::on_themselves(system, types) {
            Uniqueness::NotGuaranteed
        } else {
            Uniqueness::NoLoop
        },
        iterations: rounds,
        residual,
        converged: moved <= TOLERANCE,
        notes: Vec::new(),
        as_routes: None,
    }
}

/// Where the rounds over all services end.
pub(super) struct Rest {
    /// s̄ by service.
    pub(super) s: Vec<f64>,
    rounds: usize,
    /// The most that an s̄ moved in the last round.
    pub(super) moved: f64,
}

pub(super) fn rest(system: &System, types: &[RequestType], mut s: Vec<f64>) -> Rest {
    let (mut rounds, mut moved) = (0, f64::INFINITY);
    while moved > TOLERANCE && rounds < ROUNDS {
        rounds += 1;
        moved = 0.0;
        for i in 0..s.len() {
            let now = settle(system, types, &mut s, i);
            moved = f64::max(moved, (now - s[i]).abs());
            s[i] = now;
        }
    }
    Rest { s, rounds, moved }
}

/// Share of the requests that complete if no service rejects.
pub(super) fn unhurried(system: &System, types: &[RequestType]) -> f64 {
    let flow = flow(system, types, &vec![0.0; system.services.len()]);
    let good = flow.completion.iter().zip(&system.load).map(|(c, l)| c * l.mean());
    good.sum::<f64>() / system.total_load()
}

/// Requests per second at which the first service is full while nothing fails.
pub(super) fn advertised(system: &System, types: &[RequestType]) -> Option<f64> {
    let healthy = flow_of(system, types, &vec![0.0; system.services.len()], true);
    let limits = system.services.iter().zip(&healthy.attempts).filter_map(|(service, attempts)| {
        let attempts: f64 = attempts.iter().sum();
        service.capacity().filter(|_| attempts > 0.0).map(|c| c * system.total_load() / attempts)
    });
    limits.reduce(f64::min)
}

/// s̄ of one service where its blocking agrees with its load, all others as they are.
fn settle(system: &System, types: &[RequestType], s: &mut [f64], i: usize) -> f64 {
    let service = &system.services[i];
    let before = s[i];
    let found = root::falling(0.0, 1.0, |x| {
        s[i] = x;
        let attempts: f64 = flow(system, types, s).attempts[i].iter().sum();
        nodes::blocking(service, attempts) - x
    });
    s[i] = before;
    found
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
            walk.send(Caller::Client, &kind.steps, rate * share);
            flow.completion[class] += share * walk.succeed(Caller::Client, &kind.steps);
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

/// One call, as its caller sees it.
struct Fate {
    server: usize,
    /// Share of the calls that no cache answers.
    miss: f64,
    /// Attempts for each that no cache answers.
    tries: f64,
    /// Share of the attempts that get to the steps below.
    works: f64,
    /// The probability that it succeeds.
    success: f64,
}

impl Walk<'_> {
    /// The probability that all steps of an attempt succeed. It does not depend on the load, only
    /// on how often services reject, so that it can be known before anything is sent.
    fn succeed(&self, caller: Caller, steps: &[Step]) -> f64 {
        steps.iter().map(|step| self.step(caller, step)).product()
    }

    fn step(&self, caller: Caller, step: &Step) -> f64 {
        let all = |call: &Call| {
            let once = self.fate(caller, call).success;
            1.0 - call.chance * (1.0 - libm::pow(once, f64::from(call.times.max(1))))
        };
        step.iter().map(all).product()
    }

    /// Counts the attempts below an attempt that gets to its steps `rate` times per second.
    fn send(&mut self, caller: Caller, steps: &[Step], rate: f64) {
        let mut here = rate;
        for step in steps {
            // Calls of one step are made whatever becomes of the others.
            for call in step {
                let fate = self.fate(caller, call);
                // Made in a row for as long as they succeed.
                let made = call.chance * geometric(fate.success, call.times.max(1) - 1);
                let sent = here * made * fate.miss * fate.tries;
                self.attempts[fate.server][self.class] += sent;
                self.send(Caller::Service(service_id(fate.server)), &call.steps, sent * fate.works);
            }
            here *= self.step(caller, step);
        }
    }

    fn fate(&self, caller: Caller, call: &Call) -> Fate {
        let (server, miss) = match call.target {
            Target::Service(s) => (s.0 as usize, 1.0),
            // A warm cache answers what it holds.
            Target::Cache(c) => {
                let cache = &self.system.caches[c.0 as usize];
                (cache.store.0 as usize, 1.0 - cache.hit_rate)
            }
        };
        if self.healthy {
            return Fate { server, miss, tries: 1.0, works: 1.0, success: 1.0 };
        }
        let rejected = self.s[server];
        let accepted = 1.0 - rejected;
        let breaks = self.system.services[server].failure;
        let works = accepted * (1.0 - breaks);
        let below = self.succeed(Caller::Service(service_id(server)), &call.steps);
        let policy = self.system.edge(caller, call.target).map(|e| &e.policy);
        let tries = policy.map_or(1.0, |policy| {
            let on = policy.retry.on;
            let on = if policy.idempotent { on } else { on.for_unsafe_calls() };
            let ends = [
                (Outcome::Rejected, rejected),
                (Outcome::Failed, accepted * breaks),
                (Outcome::FailedBelow, works * (1.0 - below)),
            ];
            let retried = ends.iter().filter(|(end, _)| on.contains(*end)).map(|(_, p)| p).sum();
            geometric(retried, policy.retry.limits.limit(self.class as u8))
        });
        let success = (1.0 - miss) + miss * (works * below * tries).min(1.0);
        Fate { server, miss, tries, works, success }
    }
}

fn service_id(i: usize) -> damper_system::model::ServiceId {
    damper_system::model::ServiceId(i as u32)
}

/// 1 + q + … + q^k.
fn geometric(q: f64, limit: u32) -> f64 {
    crate::node::Rejection::from_rejected(q).attempts(limit)
}

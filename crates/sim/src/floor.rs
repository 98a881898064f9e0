//! What a healthy system needs: attempts per request and service without failures, retries
//! or cold caches. The denominator of amplification, and the floor of calls per request.

use std::collections::HashMap;

use damper_system::model::{Call, Caller, Routes, ServiceId, Step, System, Target, Work};

/// By class, by service: attempts per request when all is well.
pub(crate) fn floor(system: &System) -> Vec<Vec<f64>> {
    let classes = 0..system.classes.len();
    match &system.work {
        Work::Requests(types) => classes
            .map(|class| {
                let mut attempts = vec![0.0; system.services.len()];
                for request in types {
                    add(system, &request.steps, request.share[class], &mut attempts);
                }
                attempts
            })
            .collect(),
        Work::Routes(routes) => classes.map(|class| routed(system, routes, class)).collect(),
    }
}

fn add(system: &System, steps: &[Step], weight: f64, attempts: &mut [f64]) {
    for Call { target, times, chance, steps } in steps.iter().flatten() {
        let misses = match target {
            Target::Service(_) => 1.0,
            Target::Cache(c) => 1.0 - system.caches[c.0 as usize].hit_rate,
        };
        let weight = weight * f64::from(*times) * chance * misses;
        attempts[system.server_of(*target).0 as usize] += weight;
        add(system, steps, weight, attempts);
    }
}

/// Visits of the routing chain: the sum of entry × F^n, which converges when the spectral
/// radius of F is below one (the loader checks that).
fn routed(system: &System, routes: &Routes, class: usize) -> Vec<f64> {
    let mut wave = vec![0.0; system.services.len()];
    for (to, p) in &routes.entry[class] {
        wave[to.0 as usize] += p;
    }
    let mut visits = wave.clone();
    for _ in 0..100_000 {
        let mut next = vec![0.0; wave.len()];
        for (from, weight) in wave.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            for (to, p) in &routes.rows[class][from] {
                next[to.0 as usize] += weight * p;
            }
        }
        visits.iter_mut().zip(&next).for_each(|(v, n)| *v += n);
        if next.iter().sum::<f64>() < 1e-12 {
            break;
        }
        wave = next;
    }
    visits
}

/// Calls per execution of the caller when all is well, for every edge of the system.
#[must_use]
pub fn calls_per_execution(system: &System) -> Vec<f64> {
    let mut calls: HashMap<(Caller, Target), f64> = HashMap::new();
    let mut executions: HashMap<Caller, f64> = HashMap::new();
    let total = system.total_load().max(f64::MIN_POSITIVE);
    let share = |class: usize| system.load[class].mean() / total;
    executions.insert(Caller::Client, (0..system.classes.len()).map(share).sum());
    match &system.work {
        Work::Requests(types) => {
            for request in types {
                let weight = (0..system.classes.len()).map(|c| share(c) * request.share[c]).sum();
                count(system, Caller::Client, &request.steps, weight, &mut calls, &mut executions);
            }
        }
        Work::Routes(routes) => {
            for (class, visits) in floor(system).iter().enumerate() {
                for (to, p) in &routes.entry[class] {
                    *calls.entry((Caller::Client, Target::Service(*to))).or_default() +=
                        share(class) * p;
                }
                for (from, row) in routes.rows[class].iter().enumerate() {
                    let caller = Caller::Service(ServiceId(from as u32));
                    let weight = share(class) * visits[from];
                    *executions.entry(caller).or_default() += weight;
                    for (to, p) in row {
                        *calls.entry((caller, Target::Service(*to))).or_default() += weight * p;
                    }
                }
            }
        }
    }
    let of = |e: &damper_system::model::Edge| {
        let made = calls.get(&(e.caller, e.target)).copied().unwrap_or(0.0);
        let runs = executions.get(&e.caller).copied().unwrap_or(0.0);
        if runs > 0.0 { made / runs } else { 0.0 }
    };
    system.policies.edges.iter().map(of).collect()
}

fn count(
    system: &System,
    caller: Caller,
    steps: &[Step],
    weight: f64,
    calls: &mut HashMap<(Caller, Target), f64>,
    executions: &mut HashMap<Caller, f64>,
) {
    for Call { target, times, chance, steps } in steps.iter().flatten() {
        let made = weight * f64::from(*times) * chance;
        *calls.entry((caller, *target)).or_default() += made;
        let server = Caller::Service(system.server_of(*target));
        let reached = match target {
            Target::Service(_) => made,
            Target::Cache(c) => made * (1.0 - system.caches[c.0 as usize].hit_rate),
        };
        *executions.entry(server).or_default() += reached;
        count(system, server, steps, reached, calls, executions);
    }
}

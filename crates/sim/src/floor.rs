//! What a healthy system needs: attempts per request and service without failures, retries
//! or cold caches. The denominator of amplification, and the floor of calls per request.

use damper_system::model::{Call, Routes, Step, System, Target, Work};

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
    for Call {
        target,
        times,
        chance,
        steps,
    } in steps.iter().flatten()
    {
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

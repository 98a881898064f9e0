//! The worst case of a loop in closed form: every attempt on the way to a service fails, so it
//! receives the product of attempts over all retrying calls above it.
//!
//! Hidden capacity at a service is then its capacity over that product (see the analytic
//! reference). Here it is only where the search starts; what is printed is simulated.

use damper_system::model::{Call, Caller, Step, System, Target, Work};

use crate::floor::floor;

/// Highest load (all classes) that the capacities allow when all is well.
pub(crate) fn ceiling(system: &System) -> Option<f64> {
    limit(system, &floor(system))
}

/// Where the closed form puts hidden capacity.
pub(crate) fn hidden(system: &System) -> Option<f64> {
    limit(system, &worst(system))
}

/// The load at which the first service is full, for attempts per request by class and service.
fn limit(system: &System, attempts: &[Vec<f64>]) -> Option<f64> {
    let total = system.total_load();
    if total <= 0.0 {
        return None;
    }
    let full = system.services.iter().enumerate().filter_map(|(s, service)| {
        let per_request: f64 =
            system.load.iter().zip(attempts).map(|(l, a)| l.mean() / total * a[s]).sum();
        service.capacity().filter(|_| per_request > 0.0).map(|c| c / per_request)
    });
    full.min_by(f64::total_cmp)
}

/// Attempts per request by class and service when everything fails and caches are cold.
fn worst(system: &System) -> Vec<Vec<f64>> {
    (0..system.classes.len())
        .map(|class| {
            let mut attempts = vec![0.0; system.services.len()];
            match &system.work {
                Work::Requests(types) => {
                    for request in types {
                        add(
                            system,
                            class as u8,
                            Caller::Client,
                            &request.steps,
                            request.share[class],
                            &mut attempts,
                        );
                    }
                }
                // A route's worst case is that of its first hop times the floor further down:
                // good enough to start from.
                Work::Routes(_) => attempts = floor(system).swap_remove(class),
            }
            attempts
        })
        .collect()
}

fn add(
    system: &System,
    class: u8,
    caller: Caller,
    steps: &[Step],
    weight: f64,
    attempts: &mut [f64],
) {
    for Call { target, times, chance, steps } in steps.iter().flatten() {
        let policy = system.policy(caller, *target);
        let retries = if policy.retry.on.is_empty() { 0 } else { policy.retry.limits.limit(class) };
        // A budget bounds it; which one is for the simulator to find out.
        let retries = if policy.budget.kind == "none" {
            f64::from(retries)
        } else {
            0.2_f64.min(f64::from(retries))
        };
        let weight = weight * f64::from(*times) * chance * (1.0 + retries);
        let server = system.server_of(*target);
        attempts[server.0 as usize] += weight;
        let caller = match target {
            Target::Service(s) => Caller::Service(*s),
            Target::Cache(_) => Caller::Service(server),
        };
        add(system, class, caller, steps, weight, attempts);
    }
}

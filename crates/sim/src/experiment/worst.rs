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

/// The load at which the first service is full, for attempts per request by class and service. All
/// classes grow in proportion, or the one that the experiment varies above the others.
fn limit(system: &System, attempts: &[Vec<f64>]) -> Option<f64> {
    let total = system.total_load();
    if total <= 0.0 {
        return None;
    }
    let load: Vec<f64> = system.load.iter().map(damper_system::model::Load::mean).collect();
    let varied = system.experiment.vary.map(usize::from);
    let full = system.services.iter().enumerate().filter_map(|(s, service)| {
        let capacity = service.most_capacity()?;
        let of = |class: usize| load[class] * attempts[class][s];
        let used: f64 = (0..load.len()).map(of).sum();
        match varied {
            None => (used > 0.0).then(|| capacity / (used / total)),
            Some(class) => {
                let left = (capacity - (used - of(class))).max(0.0);
                let per_request = attempts[class][s];
                (per_request > 0.0).then(|| total - load[class] + left / per_request)
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn system(text: &str) -> System {
        damper_system::SystemFile::parse("t.yaml", text).unwrap().lower().unwrap()
    }

    const TWO: &str = "
damper: 1
name: two
classes: [high, low]
services: {a: {workers: 10, service_time: 100ms}, b: {workers: 100, service_time: 100ms}}
load: {high: 50/s, low: 250/s}
requests:
  first: {share: {high: 100%, low: 0%}, calls: [a]}
  second: {share: {high: 0%, low: 100%}, calls: [b]}
";

    #[test]
    fn the_class_that_varies_fills_its_own_service() {
        // a is full at high = 100, when low is 500; b at low = 1000.
        assert_eq!(ceiling(&system(TWO)), Some(600.0));
        let vary = |class| format!("{TWO}experiment: {{vary: {class}}}\n");
        assert_eq!(ceiling(&system(&vary("low"))), Some(1050.0));
        assert_eq!(ceiling(&system(&vary("high"))), Some(350.0));
    }
}

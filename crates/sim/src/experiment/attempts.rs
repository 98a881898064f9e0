//! How many attempts a request costs, with its error.

use super::simulate::batches;
use crate::estimate::Estimate;
use crate::run::Outcome;
use crate::stats::Point;

/// Attempts over offered requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptsPerRequest {
    /// At all services with a capacity.
    pub all: Estimate,
    /// By service; `None`: a single replication has no error of a service without a capacity.
    pub services: Vec<Option<Estimate>>,
}

impl AttemptsPerRequest {
    /// Over replications, or, if there is one, over twenty batches of it in time. `limited`: by
    /// service, whether it has a capacity.
    pub(super) fn of(limited: &[bool], outcomes: &[Outcome], warmup: u64) -> Self {
        let over = |attempts: u64, offered: u64| attempts as f64 / offered.max(1) as f64;
        let offered = |o: &Outcome| o.classes.iter().map(|c| c.offered).sum::<u64>();
        let at = |o: &Outcome, service: usize| o.services[service].attempts.iter().sum::<u64>();
        let of =
            |o: &Outcome, which: &[usize]| over(which.iter().map(|s| at(o, *s)).sum(), offered(o));
        // The series has the services with a capacity only, in their order.
        let counted: Vec<usize> = (0..limited.len()).filter(|i| limited[*i]).collect();
        let estimate = |which: &[usize]| match outcomes {
            [only] => {
                let places: Vec<usize> =
                    which.iter().filter_map(|s| counted.iter().position(|c| c == s)).collect();
                if places.len() < which.len() {
                    return None;
                }
                let batches: Vec<f64> = batches(&only.series, warmup)
                    .map(|batch| {
                        let sum = |p: &Point| -> u64 {
                            places.iter().map(|i| p.services[*i].attempts).sum()
                        };
                        (batch.iter().map(sum).sum(), batch.iter().map(|p| p.offered).sum())
                    })
                    .filter(|(_, offered): &(u64, u64)| *offered > 0)
                    .map(|(attempts, offered)| over(attempts, offered))
                    .collect();
                let spread = Estimate::of(&batches);
                let half = (spread.ci95[1] - spread.ci95[0]) / 2.0;
                let mean = of(only, which);
                Some(Estimate { mean, ci95: [(mean - half).max(0.0), mean + half] })
            }
            _ => {
                let e = Estimate::of(&outcomes.iter().map(|o| of(o, which)).collect::<Vec<_>>());
                Some(Estimate { ci95: [e.ci95[0].max(0.0), e.ci95[1]], ..e })
            }
        };
        let none = Estimate { mean: 0.0, ci95: [0.0; 2] };
        Self {
            all: estimate(&counted).unwrap_or(none),
            services: (0..limited.len()).map(|i| estimate(&[i])).collect(),
        }
    }
}

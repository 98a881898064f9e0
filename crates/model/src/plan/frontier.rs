//! The frontier between transient availability, hidden capacity and amplification.

use super::better::number;
use super::{Measures, Setting, Solution};

/// One point of the frontier.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The setting and what it comes to.
    pub solution: Solution,
    /// Whether it meets all targets.
    pub met: bool,
}

/// More points are no help.
pub(super) const MOST: usize = 64;

/// Settings of which no other is better in everything.
#[derive(Default)]
pub(super) struct Frontier {
    pub(super) points: Vec<(Setting, Measures)>,
}

impl Frontier {
    /// Takes a setting in, unless another is at least as good in everything; of equals the first
    /// with the fewest retries stays.
    pub(super) fn add(&mut self, setting: &Setting, measures: &Measures) {
        let simple = |s: &Setting| {
            let retrying = s.limits.iter().filter(|v| v.iter().any(|k| *k > 0)).count();
            (retrying, s.limits.iter().flatten().sum::<u32>(), s.clone())
        };
        for (other, seen) in &self.points {
            let as_good = no_worse(seen, measures);
            if as_good && !(no_worse(measures, seen) && simple(setting) < simple(other)) {
                return;
            }
        }
        self.points.retain(|(_, seen)| !no_worse(measures, seen));
        self.points.push((setting.clone(), measures.clone()));
    }

    /// The least amplification first; thinned evenly if there are too many.
    pub(super) fn sorted(mut self) -> Vec<(Setting, Measures)> {
        self.points.sort_by(|(s, a), (t, b)| {
            number(a.worst_amplification, b.worst_amplification)
                .then_with(|| number(availability(a), availability(b)))
                .then_with(|| s.cmp(t))
        });
        let n = self.points.len();
        if n <= MOST {
            return self.points;
        }
        (0..MOST).map(|i| self.points[i * (n - 1) / (MOST - 1)].clone()).collect()
    }
}

/// To one in ten million: what nobody can measure is no gain.
fn availability(m: &Measures) -> f64 {
    const STEP: f64 = 1e7;
    (m.availability.unwrap_or(0.0) * STEP).round() / STEP
}

fn no_worse(a: &Measures, b: &Measures) -> bool {
    number(availability(a), availability(b)).is_ge()
        && number(a.heals_below(), b.heals_below()).is_ge()
        && number(a.worst_amplification, b.worst_amplification).is_le()
}

//! Which targets cannot be met together.

use std::collections::BTreeSet;

use super::{Measures, Target};

/// What has been met together, and the best value of each target.
pub(super) struct Met {
    masks: BTreeSet<u32>,
    pub(super) reached: Vec<f64>,
}

impl Met {
    pub(super) fn new(targets: &[Target]) -> Self {
        let worst = |t: &Target| if t.at_least() { f64::NEG_INFINITY } else { f64::INFINITY };
        Self { masks: BTreeSet::new(), reached: targets.iter().map(worst).collect() }
    }

    pub(super) fn add(&mut self, measures: &Measures, targets: &[Target]) {
        for (best, target) in self.reached.iter_mut().zip(targets) {
            let value = target.value(measures);
            *best = if target.at_least() { best.max(value) } else { best.min(value) };
        }
        self.masks.insert(mask(measures, targets));
    }

    /// Whether something has met all that this one can meet at best, so that it can show nothing
    /// new.
    pub(super) fn knows(&self, at_best: &Measures, targets: &[Target]) -> bool {
        let set = mask(at_best, targets);
        self.masks.iter().any(|mask| mask & set == set)
    }

    /// The smallest sets of targets that nothing meets together, of one to three; none of them
    /// contains another. Where only more than three clash, all of them.
    pub(super) fn clashes(&self, targets: usize) -> Vec<Vec<usize>> {
        let together = |set: u32| self.masks.iter().any(|mask| mask & set == set);
        let all = (0..targets).fold(0, |mask, i| mask | 1 << i);
        if together(all) {
            return Vec::new();
        }
        let mut found: Vec<u32> = Vec::new();
        for size in 1..=3 {
            for set in sets(targets, size) {
                if !together(set) && !found.iter().any(|small| small & set == *small) {
                    found.push(set);
                }
            }
        }
        if found.is_empty() {
            found.push(all);
        }
        let places = |set: &u32| (0..targets).filter(|i| set >> i & 1 == 1).collect();
        found.iter().map(places).collect()
    }
}

/// The targets that are met, as bits.
fn mask(measures: &Measures, targets: &[Target]) -> u32 {
    let met = targets.iter().enumerate().filter(|(_, target)| target.miss(measures) == 0.0);
    met.fold(0, |mask, (i, _)| mask | 1 << i)
}

/// All sets of this many of the first `n`.
fn sets(n: usize, size: usize) -> Vec<u32> {
    let mut all = vec![(0u32, 0)];
    for _ in 0..size {
        all = all
            .iter()
            .flat_map(|(set, from)| (*from..n).map(move |i| (set | 1 << i, i + 1)))
            .collect();
    }
    all.into_iter().map(|(set, _)| set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_sets_that_nothing_meets() {
        let met = |masks: &[u32]| Met { masks: masks.iter().copied().collect(), reached: vec![] };
        assert_eq!(met(&[0b01, 0b10]).clashes(2), [[0, 1]]);
        assert_eq!(met(&[0b10]).clashes(2), [[0]]);
        assert_eq!(met(&[0b011, 0b101, 0b110]).clashes(3), [[0, 1, 2]]);
        assert_eq!(met(&[0b011, 0b100]).clashes(3), [[0, 2], [1, 2]]);
        assert!(met(&[0b11]).clashes(2).is_empty());
        assert_eq!(sets(4, 2).len(), 6);
    }
}

//! Elimination without subtraction, on a band.

use super::{Chain, ChainError};

/// Most numbers of a band: 512 MiB.
const MOST_NUMBERS: u64 = 1 << 26;
/// Most multiplications of an elimination: some ten seconds.
const MOST_WORK: u64 = 20_000_000_000;

/// What an elimination of a chain would cost, in multiplications, and whether that is allowed.
pub(super) fn affordable(chain: &Chain) -> Result<u64, ChainError> {
    let (below, above) = chain.reach();
    let states = chain.states() as u64;
    let (below, above) = (below as u64, above as u64);
    let numbers = states.saturating_mul(below.saturating_add(above).saturating_add(1));
    if numbers > MOST_NUMBERS {
        return Err(ChainError::TooLarge {
            what: "numbers in the band of the generator",
            found: numbers,
            limit: MOST_NUMBERS,
        });
    }
    let work = states.saturating_mul(below.max(1)).saturating_mul(above.max(1));
    if work > MOST_WORK {
        return Err(ChainError::TooLarge {
            what: "multiplications to eliminate all states",
            found: work,
            limit: MOST_WORK,
        });
    }
    Ok(work)
}

/// A chain of which the states have been taken out one by one, the last first.
///
/// When state k is taken out, what passed through it is added to the moves between the states
/// before it: the chain is watched only while it is there. Every number stays non-negative.
pub(super) struct Eliminated {
    states: usize,
    below: usize,
    width: usize,
    /// Row i holds the columns i - below ..= i + above. Left of the diagonal stand the rates when
    /// i was taken out; in column k > i the share `rate(i, k) / leaving(k)`.
    band: Vec<f64>,
    /// The rate at which each state is left for those before it and the target, once those
    /// after it are gone.
    leaving: Vec<f64>,
    target: Vec<bool>,
}

impl Eliminated {
    /// Takes out all states but those of `target`. Without any target, state 0 remains.
    pub(super) fn of(chain: &Chain, target: Vec<bool>) -> Result<Self, ChainError> {
        affordable(chain)?;
        let states = chain.states();
        let (below, above) = chain.reach();
        let width = below + above + 1;
        let mut band = vec![0.0; states * width];
        let mut to_target = vec![0.0; states];
        for from in (0..states).filter(|&state| !target[state]) {
            for (to, rate) in chain.moves_of(from) {
                if target[to] {
                    to_target[from] += rate;
                } else {
                    band[from * width + to + below - from] = rate;
                }
            }
        }
        let mut leaving = vec![0.0; states];
        for k in (0..states).rev().filter(|&state| !target[state]) {
            let left = below.min(k);
            let (before, rest) = band.split_at_mut(k * width);
            let row = &rest[below - left..below];
            leaving[k] = row.iter().sum::<f64>() + to_target[k];
            for i in k.saturating_sub(above)..k {
                let column = i * width + k + below - i;
                let rate = before[column];
                if rate == 0.0 {
                    continue;
                }
                // A state that is left at no rate a double can hold: whoever enters it stays.
                let share = if leaving[k] > 0.0 { rate / leaving[k] } else { f64::MAX };
                before[column] = share;
                to_target[i] += share * to_target[k];
                // Columns k - left .. k; those left of the band of row i cannot be reached.
                let first = (k - left).max(i.saturating_sub(below));
                let into = &mut before[i * width + first + below - i..column];
                for (cell, rate) in into.iter_mut().zip(&row[first + left - k..]) {
                    *cell += share * rate;
                }
            }
        }
        Ok(Self { states, below, width, band, leaving, target })
    }

    /// The expected total of `cost` per unit of time until the target is reached, by state.
    pub(super) fn total(&self, mut cost: Vec<f64>) -> Vec<f64> {
        let Self { states, below, width, .. } = *self;
        let above = width - below - 1;
        for k in (0..states).rev().filter(|&state| !self.target[state]) {
            for i in k.saturating_sub(above)..k {
                let share = self.band[i * width + k + below - i];
                if share != 0.0 && cost[k] != 0.0 && !self.target[i] {
                    cost[i] += share * cost[k];
                }
            }
        }
        for k in 0..states {
            if self.target[k] {
                cost[k] = 0.0;
                continue;
            }
            let left = below.min(k);
            let row = &self.band[k * width + below - left..k * width + below];
            let mut sum = cost[k];
            for (&rate, &on) in row.iter().zip(&cost[k - left..k]) {
                // A time beyond all numbers counts only where the chain can go.
                if rate != 0.0 {
                    sum += rate * on;
                }
            }
            cost[k] = if sum == 0.0 { 0.0 } else { sum / self.leaving[k] };
        }
        cost
    }

    /// The stationary law, if nothing but state 0 was kept.
    pub(super) fn law(&self) -> Vec<f64> {
        const LARGE: f64 = 1e200;
        let Self { states, below, width, .. } = *self;
        let above = width - below - 1;
        let mut law = vec![0.0; states];
        law[0] = 1.0;
        for k in 1..states {
            let mass: f64 = (k.saturating_sub(above)..k)
                .map(|i| law[i] * self.band[i * width + k + below - i])
                .sum();
            law[k] = mass;
            if mass > LARGE {
                // The mass of states before may vanish here: it is below 1e-300 of the whole.
                law[..=k].iter_mut().for_each(|p| *p /= mass);
            }
        }
        let total: f64 = law.iter().sum();
        law.iter_mut().for_each(|p| *p /= total);
        law
    }
}

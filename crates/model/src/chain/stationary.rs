//! The law in which a chain settles.

use super::elimination::{Eliminated, affordable};
use super::{Chain, ChainError};

/// Up to this many multiplications, elimination is preferred to iteration.
const QUICK: u64 = 2_000_000_000;
const MOST_SWEEPS: usize = 20_000;
const MOST_WORK: u64 = 40_000_000_000;
/// The imbalance at which an iteration stops.
const BALANCED: f64 = 1e-13;

impl Chain {
    /// The stationary law, by elimination: every probability has its own full precision, however
    /// small it is.
    ///
    /// State 0 must be reachable from every state (it then belongs to the only set of states that
    /// the chain does not leave).
    ///
    /// # Errors
    ///
    /// If state 0 cannot be reached from everywhere, or the chain is too large.
    pub fn stationary(&self) -> Result<Vec<f64>, ChainError> {
        self.check_reached(&self.only(0))?;
        Ok(Eliminated::of(self, vec![false; self.states()])?.law())
    }

    /// The stationary law, by elimination if that is quick, else by iteration.
    ///
    /// # Errors
    ///
    /// As [`Chain::stationary`]; also if the iteration does not settle.
    pub fn settled(&self) -> Result<Vec<f64>, ChainError> {
        match affordable(self) {
            Ok(work) if work <= QUICK => self.stationary(),
            _ => self.swept(),
        }
    }

    /// The stationary law by Gauss-Seidel sweeps up and down: no band, so moves may be long.
    ///
    /// # Errors
    ///
    /// As [`Chain::settled`].
    pub fn swept(&self) -> Result<Vec<f64>, ChainError> {
        self.check_reached(&self.only(0))?;
        let states = self.states();
        let turned = self.turned();
        let mut law = vec![1.0 / states as f64; states];
        let work = (self.moves() as u64).max(1);
        let sweeps = usize::try_from(MOST_WORK / work).unwrap_or(MOST_SWEEPS).min(MOST_SWEEPS);
        for sweep in 1..=sweeps {
            let mut visit = |state: usize| {
                // Only a chain of one state has a state that is never left.
                if self.exit(state) > 0.0 {
                    let inflow: f64 = turned.moves_of(state).map(|(from, r)| law[from] * r).sum();
                    law[state] = inflow / self.exit(state);
                }
            };
            (0..states).for_each(&mut visit);
            (0..states).rev().for_each(&mut visit);
            let total: f64 = law.iter().sum();
            if !(total.is_finite() && total > 0.0) {
                break;
            }
            law.iter_mut().for_each(|p| *p /= total);
            if sweep % 8 == 0 && self.imbalance(&law) < BALANCED {
                return Ok(law);
            }
        }
        Err(ChainError::NotSettled { what: "the stationary law", steps: sweeps })
    }

    pub(super) fn only(&self, state: usize) -> Vec<bool> {
        (0..self.states()).map(|other| other == state).collect()
    }
}

/// The mean of a quantity of the state under a law.
#[must_use]
pub fn mean(law: &[f64], mut of: impl FnMut(usize) -> f64) -> f64 {
    law.iter().enumerate().map(|(state, p)| p * of(state)).sum()
}

/// The variance of a quantity of the state under a law.
#[must_use]
pub fn variance(law: &[f64], mut of: impl FnMut(usize) -> f64) -> f64 {
    let middle = mean(law, &mut of);
    mean(law, |state| (of(state) - middle) * (of(state) - middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// M/M/c/K, closed form: p(i) is proportional to the product of λ / (μ min(j, c)).
    fn queue_law(lambda: f64, mu: f64, c: usize, k: usize) -> Vec<f64> {
        let mut law = vec![1.0];
        for i in 1..=k {
            law.push(law[i - 1] * lambda / (mu * i.min(c) as f64));
        }
        let total: f64 = law.iter().sum();
        law.iter().map(|p| p / total).collect()
    }

    fn queue(lambda: f64, mu: f64, c: usize, k: usize) -> Chain {
        Chain::build(k + 1, |x, moves| {
            if x < k {
                moves.add(x + 1, lambda);
            }
            if x > 0 {
                moves.add(x - 1, mu * x.min(c) as f64);
            }
        })
        .unwrap()
    }

    #[test]
    fn a_queue_settles_in_its_closed_form() {
        for (lambda, mu, c, k) in [(0.95, 1.0, 1, 5), (8.0, 1.0, 10, 30), (3.0, 1.0, 2, 4)] {
            let law = queue(lambda, mu, c, k).stationary().unwrap();
            for (found, expected) in law.iter().zip(queue_law(lambda, mu, c, k)) {
                assert!((found / expected - 1.0).abs() < 1e-13, "{found} {expected}");
            }
        }
    }

    #[test]
    fn tiny_probabilities_keep_their_digits() {
        // p(0) = 100^-140 of the whole, 1e-280.
        let law = queue(100.0, 1.0, 1, 140).stationary().unwrap();
        assert!((law[0] / (1e-280 * 0.99) - 1.0).abs() < 1e-11, "{}", law[0]);
        // And what is beyond any double is 0, not a wrong number.
        let law = queue(100.0, 1.0, 1, 400).stationary().unwrap();
        assert_eq!(law[0].to_bits(), 0.0_f64.to_bits());
        assert!((law[400] - 0.99).abs() < 1e-12);
    }

    #[test]
    fn a_chain_that_does_not_return_to_its_first_state_is_refused() {
        let chain = Chain::build(3, |state, moves| {
            if state < 2 {
                moves.add(state + 1, 1.0);
            } else {
                moves.add(1, 1.0);
            }
        })
        .unwrap();
        assert_eq!(chain.stationary().unwrap_err(), ChainError::Unreachable { from: 1 });
        assert_eq!(chain.swept().unwrap_err(), ChainError::Unreachable { from: 1 });
    }

    proptest! {
        #[test]
        fn any_chain_balances_and_both_ways_agree(
            rates in prop::collection::vec(0.0_f64..10.0, 49)
        ) {
            let chain = Chain::build(7, |state, moves| {
                for to in 0..7 {
                    moves.add(to, rates[state * 7 + to]);
                }
                moves.add(0, 0.1); // every state leads back
            }).unwrap();
            let law = chain.stationary().unwrap();
            prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(law.iter().all(|p| (0.0..=1.0).contains(p)));
            prop_assert!(chain.imbalance(&law) < 1e-13);
            for (a, b) in law.iter().zip(chain.swept().unwrap()) {
                prop_assert!((a - b).abs() < 1e-10);
            }
        }
    }
}

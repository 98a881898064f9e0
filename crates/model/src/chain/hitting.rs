//! How long a chain takes to reach a set of states.

use super::elimination::Eliminated;
use super::{Chain, ChainError};

/// The longest time that is told as a number, in the unit of time of the rates.
const FARTHEST: f64 = 1e300;

/// An expected time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// So long, in the unit of time of the rates.
    After(f64),
    /// Longer than 1e300: finite, but beyond the numbers of the machine.
    BeyondReach,
}

impl Expected {
    /// The number, if there is one.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        match self {
            Self::After(time) => Some(time),
            Self::BeyondReach => None,
        }
    }

    fn of(time: f64) -> Self {
        if time <= FARTHEST { Self::After(time) } else { Self::BeyondReach }
    }
}

/// The expected times to reach a target, from every state.
#[derive(Clone, Debug)]
pub struct HittingTimes(Vec<f64>);

impl HittingTimes {
    /// The expected time from a state, 0 from within the target.
    ///
    /// # Errors
    ///
    /// If there is no such state.
    pub fn from(&self, state: usize) -> Result<Expected, ChainError> {
        let states = self.0.len();
        self.0
            .get(state)
            .map(|&time| Expected::of(time))
            .ok_or(ChainError::NoSuchState { state, states })
    }

    /// The shortest expected time from any state of a set.
    ///
    /// # Errors
    ///
    /// If the set is empty.
    pub fn shortest(&self, from: impl Fn(usize) -> bool) -> Result<Expected, ChainError> {
        (0..self.0.len())
            .filter(|&state| from(state))
            .map(|state| self.0[state])
            .min_by(f64::total_cmp)
            .map(Expected::of)
            .ok_or(ChainError::Empty { what: "starting" })
    }

    /// The mean of the expected times under a law of the start.
    #[must_use]
    pub fn under(&self, law: &[f64]) -> Expected {
        let pairs = law.iter().zip(&self.0);
        Expected::of(pairs.filter(|(p, _)| **p > 0.0).map(|(p, time)| p * time).sum())
    }
}

impl Chain {
    /// The expected times to reach the target, exact to about as many digits as a double has,
    /// up to 1e300.
    ///
    /// # Errors
    ///
    /// If the target is empty or cannot be reached from everywhere, or the chain is too large.
    pub fn hitting_times(
        &self,
        target: impl Fn(usize) -> bool,
    ) -> Result<HittingTimes, ChainError> {
        Ok(HittingTimes(self.eliminated(target)?.total(vec![1.0; self.states()])))
    }

    /// The expected squares of the times to reach the target: with [`Chain::hitting_times`], the
    /// spread of these times.
    ///
    /// # Errors
    ///
    /// As [`Chain::hitting_times`].
    pub fn squared_hitting_times(
        &self,
        target: impl Fn(usize) -> bool,
    ) -> Result<HittingTimes, ChainError> {
        let eliminated = self.eliminated(target)?;
        let mut cost = eliminated.total(vec![1.0; self.states()]);
        cost.iter_mut().for_each(|time| *time *= 2.0);
        Ok(HittingTimes(eliminated.total(cost)))
    }

    /// The probability, from every state, to be in `wanted` before `other`.
    ///
    /// # Errors
    ///
    /// If the two together are empty or cannot be reached from everywhere, or the chain is too
    /// large.
    pub fn reaches_before(
        &self,
        wanted: impl Fn(usize) -> bool,
        other: impl Fn(usize) -> bool,
    ) -> Result<Vec<f64>, ChainError> {
        let eliminated = self.eliminated(|state| wanted(state) || other(state))?;
        let rate_into_wanted = |state| {
            let moves = self.moves_of(state).filter(|&(to, _)| wanted(to));
            moves.map(|(_, rate)| rate).sum::<f64>()
        };
        let mut chances = eliminated.total((0..self.states()).map(rate_into_wanted).collect());
        for (state, chance) in chances.iter_mut().enumerate() {
            // Sums of rounded terms may exceed 1 by the last digit.
            *chance = if wanted(state) { 1.0 } else { chance.min(1.0) };
        }
        Ok(chances)
    }

    fn eliminated(&self, target: impl Fn(usize) -> bool) -> Result<Eliminated, ChainError> {
        let target: Vec<bool> = (0..self.states()).map(target).collect();
        self.check_reached(&target)?;
        Eliminated::of(self, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    /// Birth and death, closed form: one step down takes d(x) = (1 + λ d(x + 1)) / μ(x).
    fn drain(lambda: f64, mu: f64, c: usize, k: usize) -> f64 {
        let mut step = 0.0;
        let mut total = 0.0;
        for x in (1..=k).rev() {
            let rise = if x < k { lambda } else { 0.0 };
            step = (1.0 + rise * step) / (mu * x.min(c) as f64);
            total += step;
        }
        total
    }

    #[test]
    fn a_queue_drains_in_its_closed_form() {
        for (lambda, mu, c, k) in
            [(9.5, 10.0, 1, 99), (8.0, 1.0, 4, 40), (0.5, 1.0, 2, 7), (30.0, 1.0, 1, 150)]
        {
            let times = queue(lambda, mu, c, k).hitting_times(|x| x == 0).unwrap();
            let found = times.from(k).unwrap().value().unwrap();
            let expected = drain(lambda, mu, c, k);
            assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        }
        // M/M/1/99 at 9.5 of 10: 2 (99 - 19 (1 - 0.95^99)).
        let times = queue(9.5, 10.0, 1, 99).hitting_times(|x| x == 0).unwrap();
        assert!((times.from(99).unwrap().value().unwrap() - 160.236_821).abs() < 1e-5);
    }

    #[test]
    fn times_are_told_up_to_the_end_of_numbers_and_then_refused() {
        // 100^149: about 1e298.
        let times = queue(100.0, 1.0, 1, 150).hitting_times(|x| x == 0).unwrap();
        let found = times.from(150).unwrap().value().unwrap();
        assert!((found / drain(100.0, 1.0, 1, 150) - 1.0).abs() < 1e-11, "{found}");
        assert!(found > 1e297);
        for k in [152, 160, 400, 2000] {
            let times = queue(100.0, 1.0, 1, k).hitting_times(|x| x == 0).unwrap();
            assert_eq!(times.from(k).unwrap(), Expected::BeyondReach, "{k}");
            assert_eq!(times.from(0).unwrap(), Expected::After(0.0));
        }
        // The other end: the target lies above and the states below are taken out last.
        for k in [152, 160, 400, 2000] {
            let times = queue(1.0, 100.0, 1, k).hitting_times(|x| x == k).unwrap();
            assert_eq!(times.from(0).unwrap(), Expected::BeyondReach, "{k}");
        }
    }

    #[test]
    fn three_states_by_hand() {
        // 0 -> 1 at 2; 1 -> 0 at 3, 1 -> 2 at 1; 2 -> 1 at 5. To 2: u1 = (1 + 3 u0) / 4 and
        // u0 = 1/2 + u1, so u1 = 5/2 and u0 = 3. To 0: v2 = 1/5 + v1, v1 = (1 + v2) / 4 = 2/5.
        let rates = [[0.0, 2.0, 0.0], [3.0, 0.0, 1.0], [0.0, 5.0, 0.0]];
        let chain = Chain::build(3, |from, moves| {
            (0..3).for_each(|to| moves.add(to, rates[from][to]));
        })
        .unwrap();
        for (target, expected) in [(2, [3.0, 2.5, 0.0]), (0, [0.0, 0.4, 0.6])] {
            let times = chain.hitting_times(|state| state == target).unwrap();
            for (state, expected) in expected.into_iter().enumerate() {
                let found = times.from(state).unwrap().value().unwrap();
                assert!((found - expected).abs() < 1e-14, "{state} to {target}: {found}");
            }
        }
    }

    #[test]
    fn the_square_of_an_exponential_time_is_twice_the_square_of_its_mean() {
        let chain = Chain::build(2, |state, moves| moves.add(1 - state, 4.0)).unwrap();
        let squared = chain.squared_hitting_times(|state| state == 0).unwrap();
        assert_eq!(squared.from(1).unwrap(), Expected::After(2.0 / 16.0));
    }

    #[test]
    fn a_gambler_is_ruined_as_in_the_books() {
        let chain = queue(2.0, 1.0, 1, 10);
        let wins = chain.reaches_before(|x| x == 10, |x| x == 0).unwrap();
        for (x, found) in wins.iter().enumerate() {
            let expected = (1.0 - 0.5_f64.powi(x as i32)) / (1.0 - 0.5_f64.powi(10));
            assert!((found - expected).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn a_target_must_be_there_and_be_reached() {
        let chain = Chain::build(2, |state, moves| moves.add(1, 1.0 - state as f64)).unwrap();
        assert!(matches!(chain.hitting_times(|_| false), Err(ChainError::Empty { .. })));
        let lost = chain.hitting_times(|state| state == 0).unwrap_err();
        assert_eq!(lost, ChainError::Unreachable { from: 1 });
        let times = chain.hitting_times(|state| state == 1).unwrap();
        assert!(matches!(times.from(2), Err(ChainError::NoSuchState { .. })));
        assert!(matches!(times.shortest(|_| false), Err(ChainError::Empty { .. })));
    }

    proptest! {
        #[test]
        fn times_are_positive_and_fall_as_the_target_grows(
            rates in prop::collection::vec(0.0_f64..10.0, 64), first in 0_usize..8, more in 0_usize..8
        ) {
            let chain = Chain::build(8, |state, moves| {
                for to in 0..8 {
                    moves.add(to, rates[state * 8 + to]);
                }
                moves.add((state + 1) % 8, 0.1);
            }).unwrap();
            let small = chain.hitting_times(|state| state == first).unwrap();
            let large = chain.hitting_times(|state| state == first || state == more).unwrap();
            for state in 0..8 {
                let time = small.from(state).unwrap().value().unwrap();
                prop_assert_eq!(time > 0.0, state != first);
                prop_assert!(large.from(state).unwrap().value().unwrap() <= time * (1.0 + 1e-12));
                // The equation itself: one step, then on from there.
                if state != first {
                    let next: f64 = chain
                        .moves_of(state)
                        .map(|(to, rate)| rate * small.from(to).unwrap().value().unwrap())
                        .sum();
                    prop_assert!(((1.0 + next) / chain.exit(state) / time - 1.0).abs() < 1e-12);
                }
            }
        }
    }
}

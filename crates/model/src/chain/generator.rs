//! The sparse generator of a chain.

use super::ChainError;

/// More states than this are refused.
const MOST_STATES: usize = 4_000_000;

/// A finite Markov chain in continuous time, as the rows of its generator.
///
/// States are numbered from 0. Elimination costs the number of states times the square of the
/// largest distance between the numbers of two states that a move joins, so number them such
/// that moves are short: [`Grid`] does this for two coordinates.
#[derive(Clone, Debug)]
pub struct Chain {
    starts: Vec<usize>,
    ends: Vec<u32>,
    rates: Vec<f64>,
    exits: Vec<f64>,
    below: usize,
    above: usize,
}

/// The moves out of one state, filled in by the function given to [`Chain::build`].
#[derive(Debug, Default)]
pub struct Moves(Vec<(usize, f64)>);

impl Moves {
    /// Adds a move to state `to`. Rates of equal moves add up; a rate of 0 is no move.
    pub fn add(&mut self, to: usize, rate: f64) {
        self.0.push((to, rate));
    }
}

impl Chain {
    /// Builds a chain of `states` states; `moves_of` names the moves out of each.
    ///
    /// # Errors
    ///
    /// If there is no state or there are too many, a rate is no rate, or a move leads nowhere.
    pub fn build(
        states: usize,
        mut moves_of: impl FnMut(usize, &mut Moves),
    ) -> Result<Self, ChainError> {
        if states == 0 {
            return Err(ChainError::Empty { what: "all" });
        }
        if states > MOST_STATES {
            return Err(ChainError::TooLarge {
                what: "states",
                found: states as u64,
                limit: MOST_STATES as u64,
            });
        }
        let mut chain = Self {
            starts: Vec::with_capacity(states + 1),
            ends: Vec::new(),
            rates: Vec::new(),
            exits: Vec::with_capacity(states),
            below: 0,
            above: 0,
        };
        let mut moves = Moves::default();
        for from in 0..states {
            moves.0.clear();
            moves_of(from, &mut moves);
            moves.0.sort_unstable_by_key(|&(to, _)| to);
            chain.push_row(from, states, &moves.0)?;
        }
        chain.starts.push(chain.ends.len());
        Ok(chain)
    }

    fn push_row(
        &mut self,
        from: usize,
        states: usize,
        moves: &[(usize, f64)],
    ) -> Result<(), ChainError> {
        let first = self.ends.len();
        self.starts.push(first);
        for &(to, rate) in moves {
            if to >= states {
                return Err(ChainError::NoSuchState { state: to, states });
            }
            if !(0.0..=1e100).contains(&rate) {
                return Err(ChainError::Rate { from, to, rate });
            }
            if rate == 0.0 || to == from {
                continue;
            }
            self.below = self.below.max(from.saturating_sub(to));
            self.above = self.above.max(to.saturating_sub(from));
            let number = u32::try_from(to).unwrap_or(u32::MAX);
            match self.rates.last_mut() {
                Some(last) if self.ends.len() > first && self.ends.last() == Some(&number) => {
                    *last += rate;
                }
                _ => {
                    self.ends.push(number);
                    self.rates.push(rate);
                }
            }
        }
        self.exits.push(self.rates[first..].iter().sum());
        Ok(())
    }

    /// How many states there are.
    #[must_use]
    pub fn states(&self) -> usize {
        self.exits.len()
    }

    /// How many different moves there are.
    #[must_use]
    pub fn moves(&self) -> usize {
        self.ends.len()
    }

    /// The moves out of a state, as (to, rate).
    pub fn moves_of(&self, from: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[from]..self.starts[from + 1];
        self.ends[range.clone()]
            .iter()
            .map(|&to| to as usize)
            .zip(self.rates[range].iter().copied())
    }

    /// The rate at which a state is left.
    #[must_use]
    pub fn exit(&self, state: usize) -> f64 {
        self.exits[state]
    }

    /// How far a move leads down and up at most, in state numbers.
    pub(super) fn reach(&self) -> (usize, usize) {
        (self.below, self.above)
    }

    /// The rate at which probability flows into each state, less that at which it flows out.
    #[must_use]
    pub fn flow(&self, law: &[f64]) -> Vec<f64> {
        let mut flow: Vec<f64> = law.iter().zip(&self.exits).map(|(p, exit)| -p * exit).collect();
        for (from, &p) in law.iter().enumerate().take(self.states()) {
            for (to, rate) in self.moves_of(from) {
                flow[to] += p * rate;
            }
        }
        flow
    }

    /// The imbalance of a law as a share of all that moves: 0 if the law is stationary.
    #[must_use]
    pub fn imbalance(&self, law: &[f64]) -> f64 {
        let moving: f64 = law.iter().zip(&self.exits).map(|(p, exit)| p * exit).sum();
        let off: f64 = self.flow(law).iter().map(|x| x.abs()).sum();
        if moving > 0.0 { off / moving } else { 0.0 }
    }

    /// The moves turned round: for each state, (from, rate) of the moves into it.
    pub(super) fn turned(&self) -> Self {
        let states = self.states();
        let mut starts = vec![0_usize; states + 1];
        for &to in &self.ends {
            starts[to as usize + 1] += 1;
        }
        for state in 0..states {
            starts[state + 1] += starts[state];
        }
        let mut next = starts.clone();
        let mut ends = vec![0; self.ends.len()];
        let mut rates = vec![0.0; self.ends.len()];
        for from in 0..states {
            for (to, rate) in self.moves_of(from) {
                ends[next[to]] = u32::try_from(from).unwrap_or(u32::MAX);
                rates[next[to]] = rate;
                next[to] += 1;
            }
        }
        let exits = self.exits.clone();
        Self { starts, ends, rates, exits, below: self.above, above: self.below }
    }

    /// Refuses a chain in which some state has no path into `target`.
    pub(super) fn check_reached(&self, target: &[bool]) -> Result<(), ChainError> {
        let turned = self.turned();
        let mut seen = target.to_vec();
        let mut open: Vec<usize> = (0..self.states()).filter(|&state| target[state]).collect();
        if open.is_empty() {
            return Err(ChainError::Empty { what: "target" });
        }
        while let Some(state) = open.pop() {
            for (from, _) in turned.moves_of(state) {
                if !seen[from] {
                    seen[from] = true;
                    open.push(from);
                }
            }
        }
        match seen.iter().position(|&reached| !reached) {
            Some(from) => Err(ChainError::Unreachable { from }),
            None => Ok(()),
        }
    }
}

/// Two coordinates, such as jobs and waiting retriers, as the number of a state.
///
/// The shorter side runs fastest, so that a move to a neighbour is short in numbers too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    wide: usize,
    high: usize,
}

impl Grid {
    /// A grid with coordinates `0..wide` and `0..high`.
    #[must_use]
    pub fn new(wide: usize, high: usize) -> Self {
        Self { wide, high }
    }

    /// How many states there are.
    #[must_use]
    pub fn states(self) -> usize {
        self.wide.saturating_mul(self.high)
    }

    /// The number of the state at (x, y).
    #[must_use]
    pub fn state(self, x: usize, y: usize) -> usize {
        if self.high <= self.wide { x * self.high + y } else { y * self.wide + x }
    }

    /// The coordinates of a state.
    #[must_use]
    pub fn at(self, state: usize) -> (usize, usize) {
        if self.high <= self.wide {
            (state / self.high.max(1), state % self.high.max(1))
        } else {
            (state % self.wide, state / self.wide)
        }
    }

    /// The mean velocity of both coordinates in a state: the arrow to draw there.
    #[must_use]
    pub fn drift(self, chain: &Chain, state: usize) -> (f64, f64) {
        let (x, y) = self.at(state);
        let mut drift = (0.0, 0.0);
        for (to, rate) in chain.moves_of(state) {
            let (next_x, next_y) = self.at(to);
            drift.0 += rate * (next_x as f64 - x as f64);
            drift.1 += rate * (next_y as f64 - y as f64);
        }
        drift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_moves_add_up_and_idle_ones_vanish() {
        let chain = Chain::build(3, |state, moves| {
            moves.add((state + 1) % 3, 1.0);
            moves.add((state + 1) % 3, 0.5);
            moves.add(state, 7.0);
            moves.add((state + 2) % 3, 0.0);
        })
        .unwrap();
        assert_eq!(chain.moves(), 3);
        assert_eq!(chain.moves_of(2).collect::<Vec<_>>(), [(0, 1.5)]);
        assert_eq!(chain.exit(1).to_bits(), 1.5_f64.to_bits());
        assert_eq!(chain.reach(), (2, 1));
        assert_eq!(chain.turned().moves_of(0).collect::<Vec<_>>(), [(2, 1.5)]);
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        assert!(matches!(Chain::build(0, |_, _| ()), Err(ChainError::Empty { .. })));
        assert!(matches!(Chain::build(usize::MAX, |_, _| ()), Err(ChainError::TooLarge { .. })));
        for rate in [-1.0, f64::NAN, f64::INFINITY] {
            let built = Chain::build(2, |state, moves| moves.add(1 - state, rate));
            assert!(matches!(built, Err(ChainError::Rate { .. })), "{rate}");
        }
        let built = Chain::build(2, |_, moves| moves.add(2, 1.0));
        assert_eq!(built.unwrap_err(), ChainError::NoSuchState { state: 2, states: 2 });
    }

    #[test]
    fn a_grid_numbers_its_shorter_side_fastest() {
        for grid in [Grid::new(7, 3), Grid::new(3, 7)] {
            for state in 0..21 {
                let (x, y) = grid.at(state);
                assert_eq!(grid.state(x, y), state);
            }
        }
        assert_eq!(Grid::new(7, 3).state(1, 0), 3);
        assert_eq!(Grid::new(3, 7).state(0, 1), 3);
    }

    #[test]
    fn the_drift_is_the_mean_velocity() {
        let grid = Grid::new(3, 3);
        let chain = Chain::build(9, |state, moves| {
            let (x, y) = grid.at(state);
            if (x, y) == (1, 1) {
                moves.add(grid.state(2, 2), 2.0);
                moves.add(grid.state(0, 1), 0.5);
            }
        })
        .unwrap();
        assert_eq!(grid.drift(&chain, grid.state(1, 1)), (1.5, 2.0));
    }
}

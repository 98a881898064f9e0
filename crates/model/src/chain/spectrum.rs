//! The slowest mode of a chain.

mod hessenberg;

use super::elimination::Eliminated;
use super::{Chain, ChainError};
use hessenberg::{Complex, eigenvalues};

/// Directions tried at most.
const MOST_DIRECTIONS: usize = 160;
/// The estimate is looked at whenever so many directions have been added.
const EVERY: usize = 8;
/// Two looks that agree so well end the search.
const AGREEMENT: f64 = 1e-10;

/// The mode of a chain that dies out last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowMode {
    /// The real part of its eigenvalue, per unit of time; negative.
    pub rate: f64,
    /// The imaginary part: not 0 if the mode swings while it dies out.
    pub turning: f64,
}

impl SlowMode {
    /// The time in which the mode falls to a hundredth, by the published measure
    /// log2(100) / |rate|. (It is the base of metafor; to a hundredth in the strict sense would be
    /// the natural logarithm, 0.69 of it.)
    #[must_use]
    pub fn mixing_time(&self) -> f64 {
        libm::log2(100.0) / self.rate.abs()
    }
}

impl Chain {
    /// The slowest mode: of the eigenvalues of the generator that lie nearest to 0, the one with
    /// the largest real part below 0.
    ///
    /// Arnoldi iteration on the inverse of the generator on the laws orthogonal to the stationary
    /// one. An eigenvalue is passed over only if it is five times farther from 0 than the nearest
    /// one and yet has a larger real part, that is, if it swings far faster than it dies out.
    ///
    /// # Errors
    ///
    /// As [`Chain::stationary`]; if there is but one state; if the iteration does not settle, as
    /// where the slowest eigenvalues all but coincide (loads of hundreds of times the capacity).
    pub fn slow_mode(&self) -> Result<SlowMode, ChainError> {
        let modes = self.modes(1)?;
        modes.first().copied().ok_or(ChainError::Empty { what: "other" })
    }

    /// The modes nearest to 0, up to `count` of them, the slowest first. A pair that swings counts
    /// as one.
    ///
    /// # Errors
    ///
    /// As [`Chain::slow_mode`].
    pub fn slow_modes(&self, count: usize) -> Result<Vec<SlowMode>, ChainError> {
        self.modes(count).or_else(|_| self.modes(1))
    }

    fn modes(&self, count: usize) -> Result<Vec<SlowMode>, ChainError> {
        let law = self.stationary()?;
        let states = self.states();
        if states < 2 {
            return Err(ChainError::Empty { what: "other" });
        }
        // From the most probable state the others are not far in time, so nothing cancels below.
        let ground = (0..states).max_by(|&a, &b| law[a].total_cmp(&law[b])).unwrap_or(0);
        let eliminated = Eliminated::of(self, self.only(ground))?;
        let centred = |mut x: Vec<f64>| {
            let middle = super::mean(&law, |state| x[state]);
            x.iter_mut().for_each(|v| *v -= middle);
            x
        };
        let start: Vec<f64> = centred((0..states as u64).map(scattered).collect());
        let inverse = |x: &[f64]| centred(eliminated.total(x.iter().map(|v| -v).collect()));
        // With equal weights, rare states are seen as well as others. Weights by the stationary
        // law make a reversible chain symmetric, which helps where the law falls steeply.
        arnoldi(start.clone(), &vec![1.0; states], count, inverse)
            .or_else(|_| arnoldi(start, &law, count, inverse))
    }
}

/// A fixed number in -1..1 for each state, without any pattern a mode could be orthogonal to.
fn scattered(state: u64) -> f64 {
    let mut z = state.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn arnoldi(
    start: Vec<f64>,
    weights: &[f64],
    count: usize,
    inverse: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<Vec<SlowMode>, ChainError> {
    let most = MOST_DIRECTIONS.min(start.len() - 1);
    let unsettled = ChainError::NotSettled { what: "the slowest mode", steps: most };
    let mut basis = vec![scaled(start, weights).0];
    // Column j of the projected operator; one entry below its diagonal.
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut last: Vec<Complex> = Vec::new();
    for size in 1..=most {
        let mut next = inverse(&basis[size - 1]);
        let before = norm(&next, weights);
        let mut column = vec![0.0; size];
        // Twice is enough to be orthogonal to the last digit.
        for _ in 0..2 {
            for (direction, entry) in basis.iter().zip(&mut column) {
                let pairs = direction.iter().zip(&next).zip(weights);
                let along: f64 = pairs.map(|((a, b), w)| a * b * w).sum();
                *entry += along;
                next.iter_mut().zip(direction).for_each(|(v, d)| *v -= along * d);
            }
        }
        let (next, length) = scaled(next, weights);
        if !(before.is_finite() && length.is_finite()) {
            return Err(unsettled);
        }
        column.push(length);
        columns.push(column);
        let complete = size == most || length <= 1e-14 * before;
        if complete || size % EVERY == 0 {
            let slowest = slowest(&columns, count).ok_or_else(|| unsettled.clone())?;
            let agree =
                |(new, old): (&Complex, &Complex)| (*new - *old).size() <= AGREEMENT * new.size();
            let settled = !last.is_empty()
                && slowest.len() == last.len()
                && slowest.iter().zip(&last).all(agree);
            // All directions there are, or no new one: the projection is the operator itself.
            if settled || (complete && (length <= 1e-14 * before || most < MOST_DIRECTIONS)) {
                return Ok(slowest.into_iter().map(mode).collect());
            }
            last = slowest;
        }
        basis.push(next);
    }
    Err(unsettled)
}

fn mode(at: Complex) -> SlowMode {
    let turning = at.im.abs();
    let swings = turning > AGREEMENT * at.size();
    SlowMode { rate: at.re, turning: if swings { turning } else { 0.0 } }
}

/// One: the largest real part among those near 0. Several: those nearest to 0.
fn slowest(columns: &[Vec<f64>], count: usize) -> Option<Vec<Complex>> {
    let size = columns.len();
    let mut matrix = vec![vec![Complex::default(); size]; size];
    for (j, column) in columns.iter().enumerate() {
        for (i, &entry) in column.iter().enumerate().take(size) {
            matrix[i][j] = Complex::new(entry, 0.0);
        }
    }
    let inverses = eigenvalues(matrix)?;
    let largest = inverses.iter().map(|z| z.size()).fold(0.0, f64::max);
    let near = if count > 1 { 0.0 } else { 0.2 };
    let kept = inverses.into_iter().filter(|z| z.size() >= near * largest && z.size() > 0.0);
    let modes = kept.map(|z| Complex::new(1.0, 0.0) / z).filter(|z| z.re < 0.0);
    if count == 1 {
        let first = modes.max_by(|a, b| a.re.total_cmp(&b.re).then(a.im.total_cmp(&b.im)))?;
        return Some(vec![first]);
    }
    // Of a pair that swings, one.
    let mut modes: Vec<Complex> = modes.filter(|z| z.im >= 0.0).collect();
    modes.sort_by(|a, b| a.size().total_cmp(&b.size()));
    modes.truncate(count);
    (!modes.is_empty()).then_some(modes)
}

fn norm(x: &[f64], weights: &[f64]) -> f64 {
    x.iter().zip(weights).map(|(v, w)| v * v * w).sum::<f64>().sqrt()
}

fn scaled(mut x: Vec<f64>, weights: &[f64]) -> (Vec<f64>, f64) {
    let length = norm(&x, weights);
    if length > 0.0 {
        x.iter_mut().for_each(|v| *v /= length);
    }
    (x, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_dies_out_as_its_closed_form_says() {
        // M/M/1/K: the eigenvalues are -λ - μ + 2 sqrt(λ μ) cos(j π / (K + 1)), j = 1..K.
        for (lambda, mu, k) in [(9.5, 10.0, 99), (1.0, 1.0, 1), (2.0, 1.0, 3), (3.0, 5.0, 400)] {
            let chain = Chain::build(k + 1, |x, moves| {
                if x < k {
                    moves.add(x + 1, lambda);
                }
                if x > 0 {
                    moves.add(x - 1, mu);
                }
            })
            .unwrap();
            let angle = std::f64::consts::PI / (k + 1) as f64;
            let expected = -lambda - mu + 2.0 * (lambda * mu).sqrt() * angle.cos();
            let found = chain.slow_mode().unwrap();
            assert!((found.rate / expected - 1.0).abs() < 1e-9, "{} {expected}", found.rate);
            assert_eq!(found.turning.to_bits(), 0.0_f64.to_bits());
        }
    }

    #[test]
    fn a_ring_swings() {
        // Five states in a ring, one way: e^(2πi/5) - 1 is the slowest.
        let chain = Chain::build(5, |x, moves| moves.add((x + 1) % 5, 1.0)).unwrap();
        let found = chain.slow_mode().unwrap();
        let angle = std::f64::consts::TAU / 5.0;
        assert!((found.rate - (angle.cos() - 1.0)).abs() < 1e-12, "{found:?}");
        assert!((found.turning - angle.sin()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn one_state_has_no_mode() {
        let chain = Chain::build(1, |_, _| ()).unwrap();
        assert_eq!(chain.slow_mode().unwrap_err(), ChainError::Empty { what: "other" });
    }

    #[test]
    fn mixing_is_counted_to_the_base_of_two() {
        let mode = SlowMode { rate: -2.0, turning: 0.0 };
        assert!((mode.mixing_time() - std::f64::consts::LOG2_10).abs() < 1e-15);
    }
}

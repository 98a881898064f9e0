//! The law of a chain after some time.

use super::{Chain, ChainError};

/// Most multiplications of one question: some ten seconds.
const MOST_WORK: f64 = 1e10;
/// Jumps per slice. The weight of no jump at all, e^-64, must be a full number.
const SLICE: f64 = 64.0;
/// Probability left out in each slice.
const REST: f64 = 1e-17;

impl Chain {
    /// The law after `time`, from the law `start`, by uniformisation.
    ///
    /// # Errors
    ///
    /// If `start` is no law, `time` is negative or no number, or so long that it takes too many
    /// steps: ask for the stationary law then.
    pub fn after(&self, start: &[f64], time: f64) -> Result<Vec<f64>, ChainError> {
        let states = self.states();
        let total: f64 = start.iter().sum();
        if start.len() != states
            || start.iter().any(|p| !(0.0..=1.0).contains(p))
            || (total - 1.0).abs() > 1e-9
        {
            return Err(ChainError::NotALaw { states });
        }
        super::within("time", time, 0.0, f64::MAX, "0 or more")?;
        let fastest = (0..states).map(|state| self.exit(state)).fold(0.0, f64::max);
        let mut law = start.to_vec();
        let jumps = fastest * time;
        if jumps == 0.0 {
            return Ok(law);
        }
        let work = jumps * (self.moves() + states) as f64;
        if work > MOST_WORK {
            return Err(ChainError::TooLarge {
                what: "multiplications to follow the chain for so long",
                found: work as u64,
                limit: MOST_WORK as u64,
            });
        }
        let slices = (jumps / SLICE).ceil().max(1.0);
        for _ in 0..slices as u64 {
            law = self.slice(law, fastest, jumps / slices);
        }
        let total: f64 = law.iter().sum();
        law.iter_mut().for_each(|p| *p /= total);
        Ok(law)
    }

    fn slice(&self, mut law: Vec<f64>, fastest: f64, jumps: f64) -> Vec<f64> {
        let mut weight = libm::exp(-jumps);
        let mut sum: Vec<f64> = law.iter().map(|p| p * weight).collect();
        let mut done = weight;
        let mut jump = 0.0;
        // Past the mean, weights fall at least geometrically; 1 - done alone may never get there.
        while jump < jumps || (1.0 - done > REST && weight > REST) {
            jump += 1.0;
            weight *= jumps / jump;
            done += weight;
            let flow = self.flow(&law);
            for (p, flow) in law.iter_mut().zip(flow) {
                *p = (*p + flow / fastest).max(0.0);
            }
            for (s, p) in sum.iter_mut().zip(&law) {
                *s += weight * p;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_states_follow_their_closed_form() {
        let chain =
            Chain::build(2, |state, moves| moves.add(1 - state, [3.0, 1.0][state])).unwrap();
        for time in [0.0, 1e-9, 0.1, 1.0, 30.0, 500.0] {
            let law = chain.after(&[1.0, 0.0], time).unwrap();
            let expected = 0.25 + 0.75 * (-4.0 * time).exp();
            assert!((law[0] - expected).abs() < 1e-13, "{time}: {} {expected}", law[0]);
            assert!((law[0] + law[1] - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn a_question_is_checked() {
        let chain = Chain::build(2, |state, moves| moves.add(1 - state, 1.0)).unwrap();
        for start in [&[1.0][..], &[0.5, 0.6], &[-1.0, 2.0], &[f64::NAN, 1.0]] {
            assert!(matches!(chain.after(start, 1.0), Err(ChainError::NotALaw { .. })));
        }
        for time in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(chain.after(&[1.0, 0.0], time), Err(ChainError::Parameter { .. })));
        }
        assert!(matches!(chain.after(&[1.0, 0.0], 1e300), Err(ChainError::TooLarge { .. })));
        let still = Chain::build(1, |_, _| ()).unwrap();
        assert_eq!(still.after(&[1.0], 1e300).unwrap(), [1.0]);
    }
}

//! The cheaper of two by chance: by peak EWMA of latency, times the requests under way.

use damper_control::Nanos;
use rand_core::Rng;

use super::Candidate;

#[derive(Debug)]
pub(crate) struct P2c;

impl P2c {
    pub(super) fn pick<C: Candidate>(
        &mut self,
        from: &[C],
        now: Nanos,
        chance: &mut impl Rng,
    ) -> Option<usize> {
        let open = from.iter().filter(|c| !c.is_out()).count();
        let nth = |n: usize| (0..from.len()).filter(|at| !from[*at].is_out()).nth(n);
        match open {
            0 => None,
            1 => nth(0),
            _ => {
                // Two different ones: the second is drawn from all but the first.
                let first = below(chance, open);
                let second = (first + 1 + below(chance, open - 1)) % open;
                let (a, b) =
                    if open == from.len() { (first, second) } else { (nth(first)?, nth(second)?) };
                let cost = |at: usize| {
                    let figures = from[at].figures();
                    figures.latency.cost(now, figures.open)
                };
                Some(if cost(b) < cost(a) { b } else { a })
            }
        }
    }
}

/// A number below `bound`, by multiplication (Lemire); its bias is below 2^-32 of a draw.
fn below(chance: &mut impl Rng, bound: usize) -> usize {
    ((u128::from(chance.next_u64()) * bound as u128) >> 64) as usize
}

//! The one with the fewest requests under way; among equals one after the other. An endpoint that
//! refuses never has many under way, so it comes after those that do not.

use damper_control::Nanos;

use super::Candidate;

#[derive(Debug, Default)]
pub(crate) struct LeastRequest {
    next: usize,
}

impl LeastRequest {
    pub(super) fn pick<C: Candidate>(&mut self, from: &[C], now: Nanos) -> Option<usize> {
        let start = self.next;
        let at = (0..from.len())
            .map(|step| (start + step) % from.len())
            .filter(|at| !from[*at].is_out())
            .min_by_key(|at| {
                let figures = from[*at].figures();
                (figures.refuses_until > now, figures.open)
            })?;
        self.next = at + 1;
        Some(at)
    }
}

//! One after the other.

use super::Candidate;

#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    next: usize,
}

impl RoundRobin {
    pub(super) fn pick<C: Candidate>(&mut self, from: &[C]) -> Option<usize> {
        let start = self.next;
        let at = (0..from.len())
            .map(|step| (start + step) % from.len())
            .find(|at| !from[*at].is_out())?;
        self.next = at + 1;
        Some(at)
    }
}

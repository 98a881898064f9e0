//! Error logs: a failure that writes, to something that has a capacity of its own.
//!
//! The loop: failures cost more than successes, so that a service that fails has less capacity than
//! one that does not. The cure on record is to log a sample, or not to wait for the log.

use damper_control::Outcome;

use crate::slab::NONE;
use crate::world::World;

/// The step of an attempt that has written its failure.
const LOGGED: u32 = u32::MAX;

impl World<'_> {
    /// Writes the failure of an attempt, if it has not been written. `true`: it waits for the log,
    /// and ends when that has answered, well or not.
    pub(crate) fn logs(&mut self, attempt: u32, s: usize, cause: Outcome) -> bool {
        let node = self.plan.services[s].log_node;
        let abandoned = self.plan.system.services[s].mechanisms.error_log;
        let abandoned = abandoned.is_some_and(|l| l.abandoned);
        let a = &mut self.attempts[attempt];
        let cause = match cause {
            // The reply cannot be written.
            Outcome::Success if abandoned && a.orphan => Outcome::TimedOut,
            cause => cause,
        };
        if node == NONE || cause == Outcome::Success || a.step == LOGGED {
            return false;
        }
        (a.step, a.cause) = (LOGGED, cause);
        self.count(s, |c| &mut c.logged);
        self.start_call(attempt, node);
        true
    }
}

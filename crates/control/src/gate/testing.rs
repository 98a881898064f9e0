//! For tests of gates: a backend of known capacity, and what a gate shows.

use rand_core::Rng;

use super::Admit;
use crate::observe::Observe;
use crate::{Nanos, Outcome};

/// Accepts at most `rate` attempts a second and rejects the rest at once.
pub(super) struct Backend {
    rate: u32,
    burst: u64,
    credit: u64,
    second: u64,
}

impl Backend {
    /// One that can save up `burst` accepts, so that chance does not waste its capacity.
    pub(super) fn new(rate: u32, burst: u64) -> Self {
        Self { rate, burst, credit: 0, second: 0 }
    }

    /// Offers `offered` attempts a second, evenly, for some seconds; how many that was.
    pub(super) fn drive<G: Admit, R: Rng>(
        &mut self,
        gate: &mut G,
        offered: u32,
        seconds: u64,
        rng: &mut R,
    ) -> f64 {
        for _ in 0..seconds {
            self.credit = (self.credit + u64::from(self.rate)).min(self.burst);
            for i in 0..u64::from(offered) {
                let now =
                    Nanos::from_secs(self.second) + Nanos(i * 1_000_000_000 / u64::from(offered));
                let Ok(pass) = gate.admit(now, 0, rng) else { continue };
                let accepted = self.credit > 0;
                self.credit -= u64::from(accepted);
                let outcome = if accepted { Outcome::Success } else { Outcome::Rejected };
                gate.settle(now, pass, outcome, Nanos::ZERO, rng);
            }
            self.second += 1;
        }
        f64::from(offered) * seconds as f64
    }
}

/// One reading of a control.
pub(super) fn reading(control: &dyn Observe, name: &str) -> f64 {
    let mut found = None;
    control.observe(&mut |n, value| {
        if n == name {
            found = Some(value);
        }
    });
    found.expect("no such reading")
}

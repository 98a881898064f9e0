//! failsafe-go's adaptive throttler.
//!
//! Source: failsafe-go `adaptivethrottler`. Google's formula with a bound on the share refused
//! and a failure rate instead of a multiple. What it refuses itself it does not count as an
//! execution: its policy records only what was executed. The formula then balances where the
//! share refused is that of the attempts *sent* that failed too many, and at `m` times the
//! capacity about √(m / 0.9) times the capacity is still sent, where Google's counting holds it
//! at 1 / 0.9 whatever `m` is. Kept as it is; `google-adaptive` with k = 1.11 is the other one.
//!
//! Old executions expire when one is recorded, not when the share is worked out. After a pause
//! the first attempts meet the share of before, until one of them has ended.

use rand_core::Rng;

use super::window::Window;
use super::{Admit, Pass, in_range};
use crate::chance::unit;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome, Reason, Refusal};

const SLICES: usize = 20;

/// failsafe-go's adaptive throttler.
#[derive(Clone, Debug)]
pub struct FailsafeThrottler {
    success_threshold: f64,
    max_rejection: f64,
    min_executions: u32,
    /// Executions and successes.
    seen: Window<2>,
    sent: u64,
    refused: u64,
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "failure_rate",
        unit: Unit::Percent,
        default: 10.0,
        min: 0.0,
        max: 99.0,
        doc: "share of failures that is still let through in full",
    },
    Parameter {
        name: "period",
        unit: Unit::Duration,
        default: 60.0,
        min: 0.001,
        max: 86_400.0,
        doc: "how far back it counts",
    },
    Parameter {
        name: "max_rejection_rate",
        unit: Unit::Percent,
        default: 90.0,
        min: 0.0,
        max: 100.0,
        doc: "largest share that it refuses",
    },
    Parameter {
        name: "min_executions",
        unit: Unit::Count,
        default: 0.0,
        min: 0.0,
        max: 4_294_967_295.0,
        doc: "executions over the period below which it refuses nothing",
    },
];

pub(super) const ENTRY: Entry = Entry {
    name: "failsafe-throttler",
    kind: Kind::Throttle,
    summary: "failsafe-go's adaptive throttler: refuses by the share of failures, at most 90 %",
    source: "failsafe-go 0.9.7, adaptivethrottler",
    rule: "\
n = executions over the period, in 20 slices (not those refused here); s = those that succeeded
p = min(max(0, n - s / (1 - failure_rate)) / (n + 1), max_rejection_rate); 0 if n < min_executions
send = a uniform draw from [0, 1) is not below p",
    when: "A callee that may fail for any reason, not only from overload: failures, timeouts and \
           rejections all count. Where the load to hold back is more than twice the capacity, \
           take `google-adaptive`.",
    traps: &[
        "What it refuses is not counted as wanted, so it holds back less the more is offered: at ten times the capacity 3.3 times the capacity is still sent.",
        "With `min_executions` at 0 the first failure of an idle caller refuses half of what follows.",
        "Time alone forgets nothing: after a pause of an hour the share refused is what it was, until an attempt that gets through has ended.",
        "Every failure counts, also one that throttling cannot cure.",
        "All classes share one count; failsafe-go's variant with priorities is another control.",
    ],
    parameters: PARAMETERS,
    readings: &[
        Reading::gauge("executions", "attempts that ended over the period"),
        Reading::gauge("successes", "those that succeeded"),
        Reading::gauge("p", "probability with which the next attempt is refused"),
        Reading::counter("sent", "attempts let through"),
        Reading::counter("refused", "attempts refused here"),
    ],
    build: Build::Gate(|p| match *p {
        [failures, period, rejection, min] if in_range(PARAMETERS, p) => {
            FailsafeThrottler::try_new(failures, seconds(period)?, rejection, whole(min)?)
                .map(Into::into)
        }
        _ => None,
    }),
};

impl FailsafeThrottler {
    /// Nothing seen yet; the rates are percentages. `None` unless 0 ≤ failure_rate ≤ 99,
    /// 0 ≤ max_rejection ≤ 100 and the period lasts 1 ms to a day.
    #[must_use]
    pub fn try_new(
        failure_rate: f64,
        period: Nanos,
        max_rejection: f64,
        min_executions: u32,
    ) -> Option<Self> {
        let valid = (0.0..=99.0).contains(&failure_rate)
            && (0.0..=100.0).contains(&max_rejection)
            && (Nanos::from_millis(1)..=Nanos::from_secs(86_400)).contains(&period);
        valid.then(|| Self {
            success_threshold: 1.0 - failure_rate / 100.0,
            max_rejection: max_rejection / 100.0,
            min_executions,
            seen: Window::new(period, SLICES),
            sent: 0,
            refused: 0,
        })
    }

    /// The probability with which the next attempt is refused, as of the last one.
    #[must_use]
    pub fn p(&self) -> f64 {
        let [n, s] = self.seen.sums();
        if n < u64::from(self.min_executions) {
            return 0.0;
        }
        let (n, s) = (n as f64, s as f64);
        ((n - s / self.success_threshold).max(0.0) / (n + 1.0)).min(self.max_rejection)
    }
}

impl Admit for FailsafeThrottler {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        class: u8,
        rng: &mut R,
    ) -> Result<Pass, Refusal> {
        // Not brought up to date: the buckets expire when something is recorded, as published.
        let p = self.p();
        if p > 0.0 && unit(rng) < p {
            self.refused += 1;
            return Err(Refusal::new(Reason::Throttled, class));
        }
        self.sent += 1;
        Ok(Pass::default())
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Pass,
        outcome: Outcome,
        _: Nanos,
        _: &mut R,
    ) {
        self.seen.add(now, [1, u32::from(outcome == Outcome::Success)]);
    }
}

impl Observe for FailsafeThrottler {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let [n, s] = self.seen.sums();
        see("executions", n as f64);
        see("successes", s as f64);
        see("p", self.p());
        see("sent", self.sent as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::GoogleAdaptive;
    use crate::gate::testing::{Backend, reading};
    use crate::testing::Zero;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn gate(min_executions: u32) -> FailsafeThrottler {
        FailsafeThrottler::try_new(10.0, Nanos::from_secs(60), 90.0, min_executions).unwrap()
    }

    fn end(g: &mut FailsafeThrottler, now: Nanos, outcome: Outcome, times: u32) {
        for _ in 0..times {
            g.settle(now, Pass::default(), outcome, Nanos::ZERO, &mut Zero);
        }
    }

    #[test]
    fn p_by_hand() {
        let mut g = gate(0);
        assert_eq!(g.p(), 0.0);
        end(&mut g, Nanos::ZERO, Outcome::Success, 90);
        end(&mut g, Nanos::ZERO, Outcome::Failed, 10);
        assert_eq!(g.p(), 0.0, "10 % of failures: just let through");
        end(&mut g, Nanos::ZERO, Outcome::TimedOut, 99);
        assert!((g.p() - 99.0 / 200.0).abs() < 1e-12, "(199 - 100) / 200");
        end(&mut g, Nanos::ZERO, Outcome::Rejected, 10_000);
        assert_eq!(g.p(), 0.9, "bounded");
        assert!(g.admit(Nanos::ZERO, 2, &mut Zero).is_err());
        assert_eq!(reading(&g, "refused"), 1.0);
    }

    /// An hour after an outage, with every coin against the caller.
    #[test]
    fn a_pause_forgets_nothing_here_and_everything_at_google() {
        let later = Nanos::from_secs(3600);
        let mut g = gate(0);
        end(&mut g, Nanos::ZERO, Outcome::Failed, 100);
        assert!((0..50).all(|_| g.admit(later, 0, &mut Zero).is_err()));
        assert_eq!(g.p(), 0.9);
        end(&mut g, later, Outcome::Success, 1);
        assert_eq!(g.p(), 0.0, "the first that has ended");
        let mut g = GoogleAdaptive::try_new(2.0, Nanos::from_secs(60), true).unwrap();
        for _ in 0..100 {
            g.settle(Nanos::ZERO, Pass::default(), Outcome::Rejected, Nanos::ZERO, &mut Zero);
        }
        assert!(g.admit(Nanos::ZERO, 0, &mut Zero).is_err());
        assert!(g.admit(later, 0, &mut Zero).is_ok());
    }

    #[test]
    fn one_failure_is_enough_unless_a_minimum_is_set() {
        let (mut hasty, mut patient) = (gate(0), gate(2));
        end(&mut hasty, Nanos::ZERO, Outcome::Failed, 1);
        end(&mut patient, Nanos::ZERO, Outcome::Failed, 1);
        assert_eq!((hasty.p(), patient.p()), (0.5, 0.0));
        end(&mut patient, Nanos::ZERO, Outcome::Failed, 1);
        assert_eq!(patient.p(), 2.0 / 3.0);
    }

    /// Ten times the capacity: with refusals left out of the count it balances where
    /// sent = 10 × capacity / (0.9 × sent), at 3.33; with them counted at 1.11. The share of
    /// 300,000 coins has a deviation below 0.1 %, and the slices make it lag a little.
    #[test]
    fn holds_back_less_the_more_is_offered_and_google_does_not() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut g = gate(0);
        let mut backend = Backend::new(100, 1000);
        backend.drive(&mut g, 1000, 600, &mut rng);
        let before = g.sent;
        backend.drive(&mut g, 1000, 300, &mut rng);
        let sent = (g.sent - before) as f64 / 300.0 / 100.0;
        assert!((sent - libm::sqrt(10.0 / 0.9)).abs() < 0.04, "{sent}");

        let mut g = GoogleAdaptive::try_new(1.0 / 0.9, Nanos::from_secs(60), true).unwrap();
        let mut backend = Backend::new(100, 1000);
        backend.drive(&mut g, 1000, 600, &mut rng);
        let before = reading(&g, "sent");
        backend.drive(&mut g, 1000, 300, &mut rng);
        let sent = (reading(&g, "sent") - before) / 300.0 / 100.0;
        assert!((sent - 1.0 / 0.9).abs() < 0.02, "{sent}");
    }

    proptest! {
        #[test]
        fn p_stays_within_its_bound_whatever_the_clock_does(
            max in 0.0f64..=100.0, steps in prop::collection::vec((any::<u64>(), 0usize..8), 0..300),
        ) {
            let mut g = FailsafeThrottler::try_new(10.0, Nanos::from_secs(60), max, 0).unwrap();
            for (now, what) in steps {
                let now = Nanos(now >> (now % 64));
                match Outcome::ALL.get(what) {
                    Some(outcome) => end(&mut g, now, *outcome, 1),
                    None => { let _ = g.admit(now, 0, &mut Zero); }
                }
                prop_assert!((0.0..=max / 100.0).contains(&g.p()));
            }
        }
    }
}

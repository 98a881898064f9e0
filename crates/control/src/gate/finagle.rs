//! Finagle's filter that drops what would be nacked.
//!
//! Source: Finagle `NackAdmissionFilter` and `LossyEma`. The moving average of "not nacked" is
//! weighted by the time since the last answer, so that its window is a time and not a number of
//! answers. Finagle nacks are rejections; here rejected and shed. The rate that decides whether
//! there is enough traffic is that of the last second in ten slices, dropped attempts included.
//!
//! Its comments say that below that rate it drops nothing. Its code asks for the rate only when
//! it updates the average (checked at 4feb34c, the last of 2024), so a caller that goes quiet
//! with a low average is still refused. That is the default here; with
//! [`FinagleNack::spares_quiet_callers`] it does as the comments say.

use rand_core::Rng;

use super::window::Window;
use super::{Admit, Pass, in_range};
use crate::chance::unit;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome, Reason, Refusal};

/// Finagle's nack admission filter.
#[derive(Clone, Debug)]
pub struct FinagleNack {
    window: Nanos,
    accept_threshold: f64,
    max_drop: f64,
    min_rate: f64,
    drops_when_quiet: bool,
    ema: f64,
    last: Option<Nanos>,
    offered: Window<1>,
    sent: u64,
    refused: u64,
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "window",
        unit: Unit::Duration,
        default: 120.0,
        min: 0.001,
        max: 86_400.0,
        doc: "mean age of what the average remembers",
    },
    Parameter {
        name: "nack_rate_threshold",
        unit: Unit::Percent,
        default: 50.0,
        min: 0.1,
        max: 99.9,
        doc: "share of rejections from which on it drops",
    },
    Parameter {
        name: "max_drop",
        unit: Unit::Percent,
        default: 75.0,
        min: 0.0,
        max: 100.0,
        doc: "largest share that it drops",
    },
    Parameter {
        name: "min_rate",
        unit: Unit::Rate,
        default: 5.0,
        min: 0.0,
        max: 1e9,
        doc: "below this rate every answer counts as accepted",
    },
    Parameter {
        name: "drops_when_quiet",
        unit: Unit::Flag,
        default: 1.0,
        min: 0.0,
        max: 1.0,
        doc: "whether it drops below min_rate too, as its code does; otherwise not, as its comments say",
    },
];

pub(super) const ENTRY: Entry = Entry {
    name: "finagle-nack",
    kind: Kind::Throttle,
    summary: "Finagle's nack admission filter: drops a share of what would probably be rejected, at most three quarters",
    source: "Finagle NackAdmissionFilter, LossyEma (com.twitter.finagle.filter)",
    rule: "\
answer, at least min_rate over the last second:  x = 0 if rejected or shed, else 1
answer, below min_rate:                          x = 1
ema  += (1 - exp(-dt / window)) × (x - ema); ema = 1 at the start
accept = 1 - nack_rate_threshold
p    = min(max_drop, 1 - ema / accept) if ema < accept, else 0
       with drops_when_quiet: false, 0 below min_rate as well
send = a uniform draw from [0, 1) is not below p",
    when: "Where many clients share a callee that answers quickly that it is overloaded. The same \
           idea as `google-adaptive` with k = 2, but it remembers by age rather than by number, \
           and is bounded: a quarter always goes out, so a callee with less than a quarter of \
           the capacity that is asked of it stays overloaded. Do not retry what it drops.",
    traps: &[
        "Timeouts are not nacks: a callee whose queue is too long to answer in time counts as well.",
        "With the window of two minutes it takes 83 s of nothing but rejections (120 s × ln 2) until the first attempt is dropped.",
        "The rate is asked for when the average is updated, not before a drop, whatever Finagle's comments say: a caller that has gone quiet is still dropped, and heals only by what it gets through. Set `drops_when_quiet: false`.",
    ],
    parameters: PARAMETERS,
    readings: &[
        Reading::gauge("ema", "moving average of answers that are not rejections"),
        Reading::gauge("rate", "attempts wanted over the last second"),
        Reading::counter("sent", "attempts let through"),
        Reading::counter("refused", "attempts dropped here (dropped_requests)"),
    ],
    build: Build::Gate(|p| match *p {
        [window, nacks, drop, rate, quiet] if in_range(PARAMETERS, p) => {
            let gate = FinagleNack::try_new(seconds(window)?, nacks, drop, rate)?;
            Some(if super::flag(quiet)? { gate } else { gate.spares_quiet_callers() }.into())
        }
        _ => None,
    }),
};

impl FinagleNack {
    /// Nothing nacked yet. `nacks` and `max_drop` are percentages, `min_rate` is per second.
    /// `None` unless the window lasts 1 ms to a day, 0.1 ≤ nacks ≤ 99.9, 0 ≤ max_drop ≤ 100 and
    /// 0 ≤ min_rate ≤ 10⁹.
    #[must_use]
    pub fn try_new(window: Nanos, nacks: f64, max_drop: f64, min_rate: f64) -> Option<Self> {
        let valid = (Nanos::from_millis(1)..=Nanos::from_secs(86_400)).contains(&window)
            && (0.1..=99.9).contains(&nacks)
            && (0.0..=100.0).contains(&max_drop)
            && (0.0..=1e9).contains(&min_rate);
        valid.then(|| Self {
            window,
            accept_threshold: 1.0 - nacks / 100.0,
            max_drop: max_drop / 100.0,
            min_rate,
            drops_when_quiet: true,
            ema: 1.0,
            last: None,
            offered: Window::new(Nanos::from_secs(1), 10),
            sent: 0,
            refused: 0,
        })
    }

    /// The same, but it drops nothing below `min_rate`.
    #[must_use]
    pub fn spares_quiet_callers(self) -> Self {
        Self { drops_when_quiet: false, ..self }
    }

    /// The moving average of answers that are not rejections.
    #[must_use]
    pub fn ema(&self) -> f64 {
        self.ema
    }

    fn busy(&self) -> bool {
        self.offered.sums()[0] as f64 >= self.min_rate
    }

    /// The probability with which the next attempt is dropped.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.ema < self.accept_threshold && (self.drops_when_quiet || self.busy()) {
            (1.0 - self.ema / self.accept_threshold).min(self.max_drop)
        } else {
            0.0
        }
    }
}

impl Admit for FinagleNack {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        class: u8,
        rng: &mut R,
    ) -> Result<Pass, Refusal> {
        self.offered.add(now, [1]);
        // The average starts to age with the first attempt.
        self.last.get_or_insert(now);
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
        self.offered.advance(now);
        let nacked = matches!(outcome, Outcome::Rejected | Outcome::Shed) && self.busy();
        let age = now.since(self.last.unwrap_or(now));
        let weight = -libm::expm1(-(age.0 as f64) / self.window.0 as f64);
        let x = if nacked { 0.0 } else { 1.0 };
        self.ema += weight * (x - self.ema);
        self.last = Some(now);
    }
}

impl Observe for FinagleNack {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("ema", self.ema);
        see("rate", self.offered.sums()[0] as f64);
        see("sent", self.sent as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::reading;
    use crate::testing::Zero;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn gate() -> FinagleNack {
        FinagleNack::try_new(Nanos::from_secs(120), 50.0, 75.0, 5.0).unwrap()
    }

    fn end(g: &mut FinagleNack, now: Nanos, outcome: Outcome) {
        g.settle(now, Pass::default(), outcome, Nanos::ZERO, &mut Zero);
    }

    /// Ten attempts a second, all rejected, until the average is `ema` or below.
    fn nacked_to(ema: f64) -> (FinagleNack, Nanos) {
        let mut g = gate();
        let mut now = Nanos::ZERO;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        while g.ema() > ema {
            now = now + Nanos::from_millis(100);
            let _ = g.admit(now, 0, &mut rng);
            end(&mut g, now, Outcome::Rejected);
        }
        (g, now)
    }

    #[test]
    fn weights_answers_by_the_time_since_the_last() {
        let mut g = gate();
        for _ in 0..5 {
            assert!(g.admit(Nanos::ZERO, 0, &mut Zero).is_ok());
        }
        end(&mut g, Nanos::ZERO, Outcome::Rejected);
        assert_eq!(g.ema(), 1.0, "no time, no weight");
        end(&mut g, Nanos::from_millis(900), Outcome::Rejected);
        let once = libm::exp(-0.9 / 120.0);
        assert!((g.ema() - once).abs() < 1e-15, "{}", g.ema());
        end(&mut g, Nanos::from_millis(900), Outcome::Success);
        assert!((g.ema() - once).abs() < 1e-15);
    }

    /// 120 s × ln 2 = 83.18 s; the first four attempts are below the rate and count as accepted.
    #[test]
    fn drops_only_below_the_threshold_and_by_the_published_share() {
        let (g, now) = nacked_to(0.5);
        assert!((now.as_secs_f64() - 83.6).abs() < 0.11, "{now}");
        assert!((g.p() - (1.0 - 2.0 * g.ema())).abs() < 1e-12);
        let (g, _) = nacked_to(0.2);
        assert!((g.p() - (1.0 - 2.0 * g.ema())).abs() < 1e-12, "60 % at 20 %: {}", g.p());
        assert!((g.p() - 0.6).abs() < 2.0 * 0.2 * 0.1 / 120.0 + 1e-9);
        let (mut g, now) = nacked_to(0.1);
        assert_eq!(g.p(), 0.75, "80 % is bounded");
        assert!(
            g.admit(now, 3, &mut Zero)
                .is_err_and(|r| r.reason == Reason::Throttled && r.class == 3)
        );
        assert!(reading(&g, "refused") >= 1.0);
    }

    #[test]
    fn little_traffic_heals() {
        let (mut g, now) = nacked_to(0.1);
        let now = now + Nanos::from_secs(1);
        let before = g.ema();
        end(&mut g, now, Outcome::Rejected);
        let healed = before + -libm::expm1(-1.0 / 120.0) * (1.0 - before);
        assert!((g.ema() - healed).abs() < 1e-12);
    }

    /// One attempt a second is below the rate of five.
    #[test]
    fn a_caller_that_went_quiet_is_dropped_by_the_code_and_spared_by_its_comments() {
        let (g, now) = nacked_to(0.1);
        let quiet = |mut g: FinagleNack| {
            (1..=20).filter(|s| g.admit(now + Nanos::from_secs(*s), 0, &mut Zero).is_err()).count()
        };
        assert_eq!(quiet(g.clone()), 20, "with every coin against it");
        assert_eq!(quiet(g.spares_quiet_callers()), 0);
    }

    #[test]
    fn it_drops_at_the_rate_itself_and_not_below() {
        for (attempts, dropped) in [(4, false), (5, true)] {
            let (g, now) = nacked_to(0.1);
            let mut g = g.spares_quiet_callers();
            let now = now + Nanos::from_secs(10);
            let refused = (0..attempts).filter(|_| g.admit(now, 0, &mut Zero).is_err()).count();
            assert_eq!(refused, usize::from(dropped), "{attempts} in a second");
        }
    }

    #[test]
    fn timeouts_and_failures_are_not_nacks() {
        for outcome in [Outcome::TimedOut, Outcome::Failed, Outcome::FailedBelow] {
            let (mut g, now) = nacked_to(0.3);
            let before = g.ema();
            end(&mut g, now + Nanos::from_millis(100), outcome);
            assert!(g.ema() > before, "{outcome:?}");
        }
    }

    /// At the floor a quarter goes out: the share of 10,000 coins has a deviation of 0.43 %.
    #[test]
    fn lets_a_quarter_through_at_the_bound() {
        let (mut g, now) = nacked_to(0.05);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let through = (0..10_000).filter(|_| g.admit(now, 0, &mut rng).is_ok()).count();
        assert!((2_500 - 4 * 44..=2_500 + 4 * 44).contains(&through), "{through}");
    }

    proptest! {
        #[test]
        fn the_average_stays_a_share_whatever_the_clock_does(
            steps in prop::collection::vec((any::<u64>(), 0usize..8), 0..300),
        ) {
            let mut g = gate();
            for (now, what) in steps {
                let now = Nanos(now >> (now % 64));
                match Outcome::ALL.get(what) {
                    Some(outcome) => end(&mut g, now, *outcome),
                    None => { let _ = g.admit(now, 0, &mut Zero); }
                }
                prop_assert!((0.0..=1.0).contains(&g.ema()));
                prop_assert!((0.0..=0.75).contains(&g.p()));
            }
        }
    }
}

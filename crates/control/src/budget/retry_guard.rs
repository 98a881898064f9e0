//! RetryGuard: a switch per service that turns retries off while they cost more than they win.
//!
//! Source: arXiv 2511.23278 (RetryGuard). From its abstract and public summaries: a controller for
//! each service, which decides for itself and in parallel with the others, turns retries of that
//! service on and off by thresholds, from a model of retries, rejections, delays and costs; it
//! suppresses them while they are counterproductive and leaves them alone in normal operation.
//! The model and its thresholds are not in what is public, so the estimate here is ours:
//!
//! - *Gain* is measured, not modelled: of the retries that have ended in the window, how many
//!   succeeded. Their number is the *cost*. A retry that wins less than `min_gain` is not worth it.
//! - *Only while more than `max_failures` of all attempts fail*, so that a few retries of calls
//!   that can never succeed do not take them from everybody.
//! - *Never on less than `min_samples`*, for both directions.
//! - *A switch starts a new window*, so that each state is judged by what happened in it.
//! - *Off, one retry per `probe_interval` is let through.* Back on: when failures are no more than
//!   `max_failures` (first attempts show that without any probe), or when a handful of probes has
//!   ended and enough of them have won.

use rand_core::Rng;

use super::share::{Share, WHOLE};
use super::window::Slices;
use super::{Attempt, RetryBudget, unseen};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const SLICES: usize = 10;
/// Probes that must have ended to judge by them.
const PROBES: u64 = 5;

/// RetryGuard's switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryGuard {
    min_gain: Share,
    max_failures: Share,
    min_samples: u64,
    probe_interval: Nanos,
    ended: Slices<SLICES>,
    failed: Slices<SLICES>,
    retried: Slices<SLICES>,
    won: Slices<SLICES>,
    off: bool,
    next_probe: Nanos,
    granted: u64,
    denied: u64,
    switched_off: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "retry-guard",
    kind: Kind::Budget,
    summary: "RetryGuard: a switch that turns a service's retries off while they cost more than they win",
    source: "arXiv 2511.23278; the estimate of gain and cost, which its public text leaves open, is Damper's",
    rule: "\
over the last window: ended, failed (as the policy retries), retries that ended, retries that won;
                      not those whose caller left
on:   every retry is granted
      off if retries >= min_samples and won / retries < min_gain and failed / ended > max_failures
off:  one retry per probe_interval is granted
      on if ended >= min_samples and failed / ended <= max_failures
      on if retries >= 5 and won / retries >= min_gain
a switch forgets the window",
    when: "Callers that should retry freely as long as it helps, and whose callees do not say \
           OVERLOADED. Beside a limit: while it is on it bounds nothing.",
    traps: &[
        "It is a switch, not a bound: until `min_samples` retries have come back, a storm runs at the full limit.",
        "With long backoffs the evidence is late by as much.",
        "Under an overload of which half is served, a retry wins half of the time and takes the place of somebody's first attempt; `min_gain` decides what that is worth.",
        "Services that share a callee decide apart, and can take turns.",
    ],
    parameters: &[
        Parameter {
            name: "min_gain",
            unit: Unit::Percent,
            default: RetryGuard::DEFAULT_MIN_GAIN,
            min: 0.0,
            max: 100.0,
            doc: "retries that must succeed for retries to be worth it; three decimals are kept",
        },
        Parameter {
            name: "max_failures",
            unit: Unit::Percent,
            default: RetryGuard::DEFAULT_MAX_FAILURES,
            min: 0.0,
            max: 100.0,
            doc: "failed attempts up to which retries stay on whatever they win; three decimals are kept",
        },
        Parameter {
            name: "min_samples",
            unit: Unit::Count,
            default: RetryGuard::DEFAULT_MIN_SAMPLES as f64,
            min: 1.0,
            max: 4_294_967_295.0,
            doc: "retries (to switch off) or attempts (to switch on) that must have ended in the window",
        },
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 10.0,
            min: 0.001,
            max: 86_400.0,
            doc: "how long attempts count",
        },
        Parameter {
            name: "probe_interval",
            unit: Unit::Duration,
            default: 1.0,
            min: 0.001,
            max: 86_400.0,
            doc: "time between two retries while off",
        },
    ],
    readings: &[
        Reading::gauge("off", "1 while retries are off"),
        Reading::gauge("failing", "failed attempts in the window as a share of all"),
        Reading::gauge(
            "gain",
            "retries that succeeded in the window as a share of those that ended",
        ),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
        Reading::counter("switched_off", "times that retries were turned off"),
    ],
    build: Build::Budget(|p| match *p {
        [gain, failures, samples, window, probe] => {
            RetryGuard::try_new(gain, failures, whole(samples)?, seconds(window)?, seconds(probe)?)
                .map(Into::into)
        }
        _ => None,
    }),
};

impl RetryGuard {
    /// A retry must win every second time.
    pub const DEFAULT_MIN_GAIN: f64 = 50.0;
    /// Up to one failure in ten is everyday life.
    pub const DEFAULT_MAX_FAILURES: f64 = 10.0;
    /// Twenty retries tell a gain of one half from one of one quarter.
    pub const DEFAULT_MIN_SAMPLES: u32 = 20;

    /// Retries are on. `None` unless both percentages are in 0..=100 (and 0 or at least 0.0005),
    /// `min_samples` at least 1, and both times in 1 ms..=1 day.
    #[must_use]
    pub fn try_new(
        min_gain: f64,
        max_failures: f64,
        min_samples: u32,
        window: Nanos,
        probe_interval: Nanos,
    ) -> Option<Self> {
        let times = Nanos::from_millis(1)..=Nanos::from_secs(86_400);
        let valid = min_samples >= 1 && times.contains(&window) && times.contains(&probe_interval);
        let (min_gain, max_failures) =
            (Share::try_new(min_gain, 100.0)?, Share::try_new(max_failures, 100.0)?);
        let slices = || Slices::new(Nanos(window.0.div_ceil(SLICES as u64)));
        valid.then(|| Self {
            min_gain,
            max_failures,
            min_samples: u64::from(min_samples),
            probe_interval,
            ended: slices(),
            failed: slices(),
            retried: slices(),
            won: slices(),
            off: false,
            next_probe: Nanos::ZERO,
            granted: 0,
            denied: 0,
            switched_off: 0,
        })
    }

    /// Whether retries are off.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        self.off
    }

    #[inline]
    fn judge(&mut self, now: Nanos) {
        let (ended, retried) = (self.ended.total(), self.retried.total());
        let failing = self.failed.total().saturating_mul(WHOLE) > self.max_failures.of(ended);
        let worth = self.won.total().saturating_mul(WHOLE) >= self.min_gain.of(retried);
        let switch = if self.off {
            (ended >= self.min_samples && !failing) || (retried >= PROBES && worth)
        } else {
            retried >= self.min_samples && failing && !worth
        };
        if switch {
            self.turn(now);
        }
    }

    #[cold]
    fn turn(&mut self, now: Nanos) {
        self.off = !self.off;
        self.switched_off += u64::from(self.off);
        self.next_probe = now + self.probe_interval;
        for window in [&mut self.ended, &mut self.failed, &mut self.retried, &mut self.won] {
            window.clear();
        }
    }

    /// Whether a probe is due; also if the clock was put back by more than the wait for one.
    fn probe_is_due(&self, now: Nanos) -> bool {
        now >= self.next_probe || self.next_probe - now > self.probe_interval
    }
}

impl RetryBudget for RetryGuard {
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        for window in [&mut self.ended, &mut self.failed, &mut self.retried, &mut self.won] {
            window.advance(now);
        }
        if unseen(outcome, retryable) {
            return;
        }
        let success = outcome == Outcome::Success;
        self.ended.record();
        if retryable && !success {
            self.failed.record();
        }
        if attempt.is_retry() {
            self.retried.record();
            if success {
                self.won.record();
            }
        }
        self.judge(now);
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        if self.off {
            if !self.probe_is_due(now) {
                self.denied += 1;
                return None;
            }
            self.next_probe = now + self.probe_interval;
        }
        self.granted += 1;
        Some(1)
    }
}

impl Observe for RetryGuard {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let share = |part: &Slices<SLICES>, all: &Slices<SLICES>| {
            if all.total() == 0 { 0.0 } else { part.total() as f64 / all.total() as f64 }
        };
        see("off", f64::from(u8::from(self.off)));
        see("failing", share(&self.failed, &self.ended));
        see("gain", share(&self.won, &self.retried));
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
        see("switched_off", self.switched_off as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    const FIRST: Attempt = Attempt::first(0);
    const RETRY: Attempt = Attempt { class: 0, retries: 1, paid: 1 };
    use Outcome::{Failed, Success};

    fn guard() -> RetryGuard {
        RetryGuard::try_new(50.0, 10.0, 20, Nanos::from_secs(10), Nanos::from_secs(1)).unwrap()
    }

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    impl RetryGuard {
        fn end(&mut self, now: Nanos, attempt: Attempt, outcome: Outcome) {
            self.settle(now, attempt, outcome, true, &mut Zero);
        }

        fn ask(&mut self, now: Nanos) -> bool {
            self.withdraw(now, FIRST, Failed, &mut Zero).is_some()
        }

        fn seen(&self) -> [u64; 4] {
            [&self.ended, &self.failed, &self.retried, &self.won].map(Slices::total)
        }
    }

    #[test]
    fn switches_off_when_retries_win_too_little() {
        let mut b = guard();
        for i in 1..20 {
            b.end(ms(0), FIRST, Failed);
            assert!(b.ask(ms(0)));
            b.end(ms(0), RETRY, if i % 2 == 0 { Success } else { Failed });
            assert!(!b.is_off(), "{i} samples");
        }
        assert_eq!(b.seen(), [38, 29, 19, 9]);
        b.end(ms(0), RETRY, Failed);
        assert!(b.is_off(), "9 of 20 is below one half, 30 of 39 above 10 %");
        assert_eq!((b.seen(), b.switched_off), ([0; 4], 1));
        assert!(!b.ask(ms(0)) && !b.ask(ms(999)));
        assert_eq!((b.granted, b.denied), (19, 2));
    }

    /// Nobody saw how they ended: they are neither evidence that retries lose nor that all is well.
    #[test]
    fn callers_that_leave_are_no_evidence() {
        let mut b = guard();
        for attempt in [FIRST, RETRY] {
            b.settle(ms(0), attempt, Outcome::TimedOut, false, &mut Zero);
        }
        assert_eq!(b.seen(), [0; 4]);
        b.settle(ms(0), RETRY, Failed, false, &mut Zero);
        assert_eq!(b.seen(), [1, 0, 1, 0], "an answer that is not retried is one");
    }

    #[test]
    fn stays_on_when_they_win_enough_or_hardly_anything_fails() {
        let mut b = guard();
        for i in 0..1000 {
            b.end(ms(0), FIRST, Failed);
            b.end(ms(0), RETRY, if i % 2 == 0 { Success } else { Failed });
        }
        assert_eq!(b.switched_off, 0, "exactly half");
        let mut b = guard();
        for _ in 0..1000 {
            (0..18).for_each(|_| b.end(ms(0), FIRST, Success));
            b.end(ms(0), FIRST, Failed);
            b.end(ms(0), RETRY, Failed);
        }
        assert_eq!(b.switched_off, 0, "no retry wins, but 2 of 20 are exactly 10 %");
        let mut b = guard();
        (0..1000).for_each(|_| b.settle(ms(0), RETRY, Failed, false, &mut Zero));
        assert_eq!(b.seen(), [1000, 0, 1000, 0], "nothing that the policy retries fails");
        assert_eq!(b.switched_off, 0);
    }

    #[test]
    fn probes_and_recovers() {
        let off = || {
            let mut b = guard();
            (0..20).for_each(|_| b.end(ms(500), RETRY, Failed));
            assert!(b.is_off());
            b
        };
        let mut b = off();
        let granted: std::vec::Vec<u64> =
            (5..50).map(|i| i * 100).filter(|&t| b.ask(ms(t))).collect();
        assert_eq!(granted, [1500, 2500, 3500, 4500], "one per second");
        // Calls succeed again: one is not enough, 18 of 20 are.
        b.end(ms(5000), FIRST, Success);
        assert!(b.is_off());
        (0..2).for_each(|_| b.end(ms(5000), FIRST, Failed));
        (0..16).for_each(|_| b.end(ms(5000), FIRST, Success));
        assert!(b.is_off());
        b.end(ms(5000), FIRST, Success);
        assert!(!b.is_off() && b.ask(ms(5000)) && b.ask(ms(5000)));
        // Calls fail as before, but retries win: three of five probes.
        let mut b = off();
        for outcome in [Failed, Failed, Success, Success] {
            b.end(ms(5000), RETRY, outcome);
        }
        assert!(b.is_off());
        b.end(ms(5000), RETRY, Success);
        assert!(!b.is_off());
        // Time goes back: a probe is due at once, not in a thousand years.
        let mut b = off();
        assert!(b.ask(Nanos::MAX));
        assert!(b.ask(ms(600)));
        assert!(!b.ask(ms(601)));
    }

    #[test]
    fn refuses_impossible_settings() {
        let s = Nanos::from_secs;
        for (gain, failures, samples, window, probe) in [
            (-1.0, 10.0, 20, s(10), s(1)),
            (f64::NAN, 10.0, 20, s(10), s(1)),
            (50.0, 101.0, 20, s(10), s(1)),
            (50.0, 10.0, 0, s(10), s(1)),
            (50.0, 10.0, 20, s(0), s(1)),
            (50.0, 10.0, 20, s(10), s(86_401)),
        ] {
            assert!(RetryGuard::try_new(gain, failures, samples, window, probe).is_none());
        }
    }

    proptest! {
        #[test]
        fn off_there_is_one_retry_per_interval(
            events in prop::collection::vec((0u64..300, 0u8..8), 0..500),
        ) {
            let mut b = guard();
            let mut last: Option<u64> = None;
            let mut now = 0;
            for (gap, event) in events {
                now += gap;
                match event {
                    0 => b.end(ms(now), FIRST, Success),
                    1 => b.end(ms(now), RETRY, Success),
                    2..4 => b.end(ms(now), RETRY, Failed),
                    _ if b.is_off() => if b.ask(ms(now)) {
                        prop_assert!(last.is_none_or(|last| now - last >= 1000));
                        last = Some(now);
                    },
                    _ => { prop_assert!(b.ask(ms(now))); last = None; }
                }
                let [ended, failed, retried, won] = b.seen();
                prop_assert!(failed <= ended && retried <= ended && won <= retried);
            }
        }

        #[test]
        fn any_times_are_fine(events in prop::collection::vec((any::<u64>(), 0u8..4), 0..300)) {
            let mut b = RetryGuard::try_new(50.0, 10.0, 1, ms(1), ms(1)).unwrap();
            for (now, event) in events {
                match event {
                    0 => b.end(Nanos(now), FIRST, Success),
                    1 => b.end(Nanos(now), RETRY, Success),
                    2 => b.end(Nanos(now), RETRY, Failed),
                    _ => { b.ask(Nanos(now)); }
                }
            }
        }
    }
}

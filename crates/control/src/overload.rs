//! When a service says OVERLOADED to its callers.
//!
//! Source: a note on coordinated backpressure: a tier says OVERLOADED when its queue is over
//! 80 % of its limit or its processors over 90 % busy, and the tier above cuts its retry budget
//! at once. Nothing is published about how long it goes on saying so; with `hold` at zero it
//! stops with the first observation that is below both.

use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit};
use crate::observe::{Observe, Reading};

/// The controls of this family.
pub(crate) const ENTRIES: &[&Entry] = &[&ENTRY];

const ENTRY: Entry = Entry {
    name: "overloaded",
    kind: Kind::Overload,
    summary: "says OVERLOADED when the queue is over 80 % of its limit or the processors over 90 % busy",
    source: "backpressure between tiers in the retry-budget literature: queue over 80 %, processors over 90 %",
    rule: "\
over       = waiting > queue × limit of the queue, or busy share > cpu
overloaded = over now, or over at some time within the last `hold`",
    when: "Services whose callers listen: a budget that halves or stops when it hears the word \
           reacts before timeouts tell it. Without such callers it only counts.",
    traps: &[
        "A queue with a limit that is far too long is never over 80 % of it: everybody times out first.",
        "A service that is meant to run at 95 % of its processors says it all the time.",
        "With `hold` at 0 a queue that hovers at the threshold says it and takes it back many times a second; callers that cut at once and grow slowly do not mind.",
        "A service without a limit on its queue can only tell by its processors.",
    ],
    parameters: &[
        Parameter {
            name: "queue",
            unit: Unit::Percent,
            default: Detector::DEFAULT_QUEUE,
            min: 0.0,
            max: 100.0,
            doc: "share of the limit of the queue above which it is overloaded; 100%: never",
        },
        Parameter {
            name: "cpu",
            unit: Unit::Percent,
            default: Detector::DEFAULT_CPU,
            min: 0.0,
            max: 100.0,
            doc: "share of busy workers or processors above which it is overloaded; 100%: never",
        },
        Parameter {
            name: "hold",
            unit: Unit::Duration,
            default: 0.0,
            min: 0.0,
            max: 3600.0,
            doc: "how long it goes on saying so; 0: until the next look",
        },
    ],
    readings: &[
        Reading::gauge("overloaded", "1 while it says OVERLOADED"),
        Reading::counter("entered", "times it began to say so"),
        Reading::counter("said", "looks that found it overloaded"),
    ],
    build: Build::Section,
};

/// Tells when a service is overloaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Detector {
    /// Shares, not percentages.
    queue: f64,
    cpu: f64,
    hold: Nanos,
    /// When it was last over.
    over: Option<Nanos>,
    overloaded: bool,
    entered: u64,
    said: u64,
}

impl Detector {
    /// The published share of the queue, in percent.
    pub const DEFAULT_QUEUE: f64 = 80.0;
    /// The published share of the processors, in percent.
    pub const DEFAULT_CPU: f64 = 90.0;

    /// Not overloaded yet. `queue` and `cpu` are percentages; `None` unless both are in 0..=100
    /// and `hold` is at most an hour.
    #[must_use]
    pub fn try_new(queue: f64, cpu: f64, hold: Nanos) -> Option<Self> {
        let share = 0.0..=100.0;
        let valid =
            share.contains(&queue) && share.contains(&cpu) && hold <= Nanos::from_secs(3600);
        valid.then_some(Self {
            queue: queue / 100.0,
            cpu: cpu / 100.0,
            hold,
            over: None,
            overloaded: false,
            entered: 0,
            said: 0,
        })
    }

    /// Whether the service is overloaded with `waiting` in a queue that may hold `queue_limit`
    /// (`u32::MAX`: any number) and a share `utilisation` of its workers busy.
    #[inline]
    pub fn look(&mut self, now: Nanos, waiting: u32, queue_limit: u32, utilisation: f64) -> bool {
        let full = f64::from(waiting) > self.queue * f64::from(queue_limit);
        if full || utilisation > self.cpu {
            self.over = Some(now);
        } else if let Some(over) = self.over {
            // From a clock that goes back the hold starts again; it never lasts longer.
            let over = over.min(now);
            self.over = (now.since(over) < self.hold).then_some(over);
        }
        let overloaded = self.over.is_some();
        self.entered += u64::from(overloaded && !self.overloaded);
        self.said += u64::from(overloaded);
        self.overloaded = overloaded;
        overloaded
    }

    /// What the last look found.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.overloaded
    }

    /// How often it began to say so.
    #[must_use]
    pub fn entered(&self) -> u64 {
        self.entered
    }
}

impl Observe for Detector {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("overloaded", if self.overloaded { 1.0 } else { 0.0 });
        see("entered", self.entered as f64);
        see("said", self.said as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn detector(hold: Nanos) -> Detector {
        Detector::try_new(80.0, 90.0, hold).unwrap()
    }

    #[test]
    fn the_published_thresholds_must_be_passed() {
        let mut d = detector(Nanos::ZERO);
        for (waiting, cpu, over) in
            [(80, 0.0, false), (81, 0.0, true), (0, 0.90, false), (0, 0.91, true), (100, 1.0, true)]
        {
            assert_eq!(d.look(Nanos::ZERO, waiting, 100, cpu), over, "{waiting} {cpu}");
        }
        assert_eq!((d.entered(), d.is_overloaded()), (2, true));
    }

    #[test]
    fn without_a_hold_it_stops_at_once_and_with_one_after_it() {
        let mut d = detector(Nanos::ZERO);
        assert!(d.look(Nanos::ZERO, 81, 100, 0.0));
        assert!(!d.look(Nanos::ZERO, 80, 100, 0.0));
        let mut d = detector(Nanos::from_secs(1));
        d.look(Nanos::ZERO, 81, 100, 0.0);
        assert!(d.look(Nanos::from_millis(999), 0, 100, 0.0));
        assert!(!d.look(Nanos::from_secs(1), 0, 100, 0.0));
        assert_eq!(d.entered(), 1);
        let mut shown = Vec::new();
        d.observe(&mut |name, value| shown.push((name, value)));
        assert_eq!(shown, [("overloaded", 0.0), ("entered", 1.0), ("said", 2.0)]);
        assert!(shown.iter().map(|s| s.0).eq(ENTRY.readings.iter().map(|r| r.name)));
    }

    #[test]
    fn a_queue_without_limit_or_places_and_a_load_nobody_knows() {
        let mut d = detector(Nanos::ZERO);
        assert!(!d.look(Nanos::ZERO, 1_000_000, u32::MAX, 0.0));
        assert!(!d.look(Nanos::ZERO, 0, 0, 0.0));
        assert!(!d.look(Nanos::ZERO, 0, 100, f64::NAN));
        let mut never = Detector::try_new(100.0, 100.0, Nanos::ZERO).unwrap();
        assert!(!never.look(Nanos::ZERO, 100, 100, 1.0));
    }

    #[test]
    fn refuses_impossible_settings() {
        for (queue, cpu) in [(-1.0, 90.0), (101.0, 90.0), (80.0, f64::NAN), (80.0, 100.5)] {
            assert!(Detector::try_new(queue, cpu, Nanos::ZERO).is_none(), "{queue} {cpu}");
        }
        assert!(Detector::try_new(80.0, 90.0, Nanos::MAX).is_none());
    }

    proptest! {
        /// A clock may go back; the word still ends one hold after it has gone forward again.
        #[test]
        fn it_ends_after_the_hold_whatever_the_clock_did(
            steps in prop::collection::vec((any::<u64>(), 0u32..200), 0..50), hold in 0u64..3600,
        ) {
            let mut d = detector(Nanos::from_secs(hold));
            let mut now = Nanos::ZERO;
            for (time, waiting) in steps {
                now = Nanos(time >> (time % 64));
                let over = d.look(now, waiting, 100, 0.0);
                prop_assert!(over || waiting <= 80);
            }
            d.look(now, 0, 100, 0.0);
            let after = now + Nanos::from_secs(hold);
            prop_assert!(after == Nanos::MAX || !d.look(after, 0, 100, 0.0));
        }
    }
}

//! Criticality: an overloaded service refuses the less important first.
//!
//! Source: "Site Reliability Engineering" (2016), chapter 21: a task rejects a criticality at a
//! utilisation that is higher the more important it is, and keeps its statistics for each. The
//! thresholds are not published; those here are ours.

use rand_core::Rng;

use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::who::{CLASSES, Who};
use crate::{Nanos, Reason, Refusal};

/// Google's rule of criticality with thresholds of ours.
#[derive(Clone, Debug)]
pub struct Criticality {
    utilisation: [f64; CLASSES],
    queue: [f64; CLASSES],
    refused: [u64; CLASSES],
}

pub(super) const ENTRY: Entry = Entry {
    name: "criticality",
    kind: Kind::Admission,
    summary: "Google's criticality: each class has a utilisation and a queue length from which it is refused, the lowest first",
    source: "Site Reliability Engineering (2016), chapter 21; the thresholds are Damper's",
    rule: "\
class k of n refuses when  utilisation > u(k)  or  queue > q(k)
u falls evenly from 100 % (class 0: never) to lowest_utilisation
q falls evenly from highest_queue to lowest_queue
queue = waiting / queue limit; without a limit, waiting / workers",
    when: "Where the capacity is sized for the upper classes and the lower ones may be refused in \
           part all day. Simple and without memory: what it does can be read off two numbers.",
    traps: &[
        "Lower classes never get the last part of the utilisation, also when nobody else wants it.",
        "Utilisation is an average over about a second: until it has risen, only the queue protects.",
        "Google's other rule, for quotas, is not here: a class over its quota is refused only when all below it already are.",
    ],
    parameters: &[
        Parameter {
            name: "classes",
            unit: Unit::Count,
            default: 4.0,
            min: 1.0,
            max: CLASSES as f64,
            doc: "classes that are told apart; Google has four",
        },
        Parameter {
            name: "lowest_utilisation",
            unit: Unit::Percent,
            default: 85.0,
            min: 0.0,
            max: 100.0,
            doc: "utilisation above which the lowest class is refused",
        },
        Parameter {
            name: "lowest_queue",
            unit: Unit::Percent,
            default: 10.0,
            min: 0.0,
            max: 100.0,
            doc: "share of the queue above which the lowest class is refused",
        },
        Parameter {
            name: "highest_queue",
            unit: Unit::Percent,
            default: 80.0,
            min: 0.0,
            max: 100.0,
            doc: "share of the queue above which the highest class is refused",
        },
    ],
    readings: &[
        Reading::counter("refused", "attempts refused"),
        Reading::counter("refused_0", "attempts of class 0 refused"),
        Reading::counter("refused_1", "attempts of class 1 refused"),
        Reading::counter("refused_2", "attempts of class 2 refused"),
        Reading::counter("refused_3", "attempts of class 3 refused"),
        Reading::counter("refused_below", "attempts of all lower classes refused"),
    ],
    build: Build::Admission(|p| match *p {
        [classes, utilisation, lowest, highest] => {
            Criticality::try_new(whole(classes)?, utilisation, lowest, highest).map(Into::into)
        }
        _ => None,
    }),
};

impl Criticality {
    /// A rule for `classes` classes; the rest in percent. `None` unless 1 ≤ classes ≤ 16, 0 ≤
    /// utilisation ≤ 100 and 0 ≤ lowest ≤ highest ≤ 100.
    #[must_use]
    pub fn try_new(
        classes: u32,
        lowest_utilisation: f64,
        lowest_queue: f64,
        highest_queue: f64,
    ) -> Option<Self> {
        let valid = (1..=CLASSES as u32).contains(&classes)
            && (0.0..=100.0).contains(&lowest_utilisation)
            && (0.0..=100.0).contains(&lowest_queue)
            && (lowest_queue..=100.0).contains(&highest_queue);
        if !valid {
            return None;
        }
        let steps = classes - 1;
        let fall = |from: f64, to: f64, class: usize| {
            if steps == 0 {
                return from / 100.0;
            }
            let share = f64::from((class as u32).min(steps)) / f64::from(steps);
            (from - (from - to) * share) / 100.0
        };
        let mut rule =
            Self { utilisation: [0.0; CLASSES], queue: [0.0; CLASSES], refused: [0; CLASSES] };
        for class in 0..CLASSES {
            rule.utilisation[class] = fall(100.0, lowest_utilisation, class);
            rule.queue[class] = fall(highest_queue, lowest_queue, class);
        }
        Some(rule)
    }

    /// Attempts of this class refused.
    #[must_use]
    pub fn refused(&self, class: u8) -> u64 {
        self.refused[Who::of(class).index()]
    }
}

/// How full the queue is; one without a limit is full when it is as long as there are workers.
fn fullness(busy: &Busy) -> f64 {
    let room = if busy.queue_limit == u32::MAX { busy.workers } else { busy.queue_limit };
    match room {
        u32::MAX => 0.0,
        0 => 0.0, // Nobody can wait; the utilisation must do.
        room => f64::from(busy.waiting) / f64::from(room),
    }
}

impl AdmissionRule for Criticality {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        who: Who,
        busy: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        let class = who.index();
        if busy.utilisation.min(1.0) > self.utilisation[class] || fullness(busy) > self.queue[class]
        {
            self.refused[class] += 1;
            return Err(Refusal::new(Reason::Shed, who.class));
        }
        Ok(())
    }
}

impl Observe for Criticality {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        see("refused", sum(&self.refused));
        see("refused_0", self.refused[0] as f64);
        see("refused_1", self.refused[1] as f64);
        see("refused_2", self.refused[2] as f64);
        see("refused_3", self.refused[3] as f64);
        see("refused_below", sum(&self.refused[4..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn at(utilisation: f64, waiting: u32) -> Busy {
        Busy { waiting, queue_limit: 100, working: 10, workers: 10, utilisation }
    }

    impl Criticality {
        fn ask(&mut self, class: u8, busy: &Busy) -> bool {
            self.admit(Nanos::ZERO, Who::of(class), busy, &mut Zero).is_ok()
        }
    }

    /// Thresholds with four classes: 100, 95, 90, 85 % of utilisation; 80, 56.7, 33.3, 10 % of
    /// the queue.
    #[test]
    fn thresholds_by_hand() {
        let mut c = Criticality::try_new(4, 85.0, 10.0, 80.0).unwrap();
        for (busy, admitted) in [
            (at(0.0, 0), [true, true, true, true]),
            (at(0.85, 10), [true, true, true, true]),
            (at(0.86, 0), [true, true, true, false]),
            (at(0.91, 0), [true, true, false, false]),
            (at(0.96, 0), [true, false, false, false]),
            (at(1.0, 0), [true, false, false, false]),
            (at(0.5, 11), [true, true, true, false]),
            (at(0.5, 34), [true, true, false, false]),
            (at(0.5, 57), [true, false, false, false]),
            (at(0.5, 80), [true, false, false, false]),
            (at(0.5, 81), [false, false, false, false]),
        ] {
            assert_eq!([0, 1, 2, 3].map(|class| c.ask(class, &busy)), admitted, "{busy:?}");
        }
        assert_eq!([0, 1, 2, 3].map(|class| c.refused(class)), [1, 5, 7, 9]);
        assert!(!c.ask(9, &at(0.86, 0)), "a class beyond is the lowest");
        assert_eq!(c.refused(9), 1);
    }

    #[test]
    fn a_queue_without_limit_is_measured_by_the_workers() {
        let mut c = Criticality::try_new(4, 85.0, 10.0, 80.0).unwrap();
        let busy = |waiting, workers| Busy { queue_limit: u32::MAX, workers, ..at(0.5, waiting) };
        assert!(c.ask(3, &busy(1, 10)) && !c.ask(3, &busy(2, 10)));
        assert!(c.ask(3, &busy(1_000_000, u32::MAX)));
    }

    #[test]
    fn refuses_impossible_settings() {
        for (classes, u, low, high) in [
            (0, 85.0, 10.0, 80.0),
            (17, 85.0, 10.0, 80.0),
            (4, 101.0, 10.0, 80.0),
            (4, f64::NAN, 10.0, 80.0),
            (4, 85.0, -1.0, 80.0),
            (4, 85.0, 90.0, 80.0),
        ] {
            assert!(Criticality::try_new(classes, u, low, high).is_none());
        }
    }

    proptest! {
        #[test]
        fn a_refused_class_means_that_all_below_are(
            classes in 1u32..=16, u in 0.0f64..100.0, low in 0.0f64..50.0, high in 50.0f64..100.0,
            utilisation in 0.0f64..1.0, waiting in 0u32..120,
        ) {
            let mut c = Criticality::try_new(classes, u, low, high).unwrap();
            let answers: std::vec::Vec<bool> =
                (0..20).map(|class| c.ask(class, &at(utilisation, waiting))).collect();
            prop_assert!(answers.is_sorted_by(|a, b| a >= b), "{:?}", answers);
        }
    }
}

//! failsafe-go's prioritised rejection: the length of the queue says how many, the priorities whom.
//!
//! Source: failsafe-go `adaptivelimiter` (prioritised, queueing), `priority`. The limit is the
//! number of workers.

use rand_core::Rng;

use super::ranks::Ranks;
use super::{AdmissionRule, Busy};
use crate::chance::below;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::who::Who;
use crate::{Nanos, Reason, Refusal};

/// failsafe-go's priorities, each with a hundred levels.
const PRIORITIES: u32 = 5;
const LEVELS: u32 = 100;

/// failsafe-go's prioritised rejection.
#[derive(Clone, Debug)]
pub struct Prioritized {
    interval: Nanos,
    start: f64,
    full: f64,
    ranks: Ranks,
    rate: f64,
    /// The first rank that is refused.
    threshold: u32,
    next: Option<Nanos>,
    refused: u64,
}

pub(super) const INITIAL_FACTOR: Parameter = Parameter {
    name: "initial_factor",
    unit: Unit::Number,
    default: Prioritized::DEFAULT_INITIAL_FACTOR,
    min: 0.0,
    max: 1000.0,
    doc: "queue, in workers, from which some are refused",
};

pub(super) const MAX_FACTOR: Parameter = Parameter {
    name: "max_factor",
    unit: Unit::Number,
    default: Prioritized::DEFAULT_MAX_FACTOR,
    min: 0.01,
    max: 1000.0,
    doc: "queue, in workers, from which all are refused",
};

pub(super) const ENTRY: Entry = Entry {
    name: "failsafe-priority",
    kind: Kind::Admission,
    summary: "failsafe-go's prioritised rejection: a queue of two to three times the workers refuses the lowest levels",
    source: "failsafe-go adaptivelimiter and priority (0.9.7)",
    rule: "\
level = random in 100 levels of the class: 400-499 for class 0, 300-399 for class 1, … 0-99 for class 4 and below
a worker is free:                    admit
waiting >= trunc(max × workers):     refuse
else:                                admit iff level >= threshold, and record the level
every interval:
  rate = 0 if waiting < trunc(initial × workers), 1 if waiting >= trunc(max × workers), linear between
  threshold = 0 if rate = 0, else the quantile `rate` of the last 1000 recorded levels",
    when: "A queue that may be a few times as long as there are workers. The threshold follows the \
           queue of one moment in each interval.",
    traps: &[
        "Levels are recorded of those that passed, so that each calibration takes its share of the survivors: with a queue that stays, the threshold climbs until hardly anybody passes.",
        "A queue of two to three times the workers fills in a few service times, a calibration comes once a second: most refusals are those of the maximum, which tells nobody apart.",
        "A call without priority has level 0.",
        "Levels are by chance: of one user's calls some pass and some do not.",
        "Without a calibration nothing is refused until the queue is at its maximum.",
    ],
    parameters: &[
        Parameter {
            name: "interval",
            unit: Unit::Duration,
            default: 1.0,
            min: 0.001,
            max: 3600.0,
            doc: "time between two calibrations; the documentation of failsafe-go has 1 s",
        },
        INITIAL_FACTOR,
        MAX_FACTOR,
    ],
    readings: &[
        Reading::gauge("rate", "share to be refused, of the last calibration"),
        Reading::gauge("threshold", "first rank that is refused (0: the most important)"),
        Reading::counter("refused", "attempts refused"),
    ],
    build: Build::Admission(|p| match *p {
        [interval, start, full] => {
            Prioritized::try_new(seconds(interval)?, start, full).map(Into::into)
        }
        _ => None,
    }),
};

/// The share to be refused with this queue: 0 below `start` times the workers, 1 from `full`
/// times on, linear between.
pub(super) fn rate(start: f64, full: f64, busy: &Busy) -> f64 {
    let workers = f64::from(busy.workers);
    let waiting = f64::from(busy.waiting);
    let (start, full) = (libm::trunc(start * workers), libm::trunc(full * workers));
    if waiting < start {
        0.0
    } else if waiting >= full {
        1.0
    } else {
        (waiting - start) / (full - start)
    }
}

/// Whether the two factors can be.
pub(super) fn valid(start: f64, full: f64) -> bool {
    (0.01..=1000.0).contains(&full) && (0.0..=full).contains(&start)
}

impl Prioritized {
    /// failsafe-go's queue, in workers, from which some are refused.
    pub const DEFAULT_INITIAL_FACTOR: f64 = 2.0;
    /// failsafe-go's queue, in workers, from which all are refused.
    pub const DEFAULT_MAX_FACTOR: f64 = 3.0;

    /// A rule that has not been calibrated. `None` unless the interval is 1 ms to 1 h and 0 ≤
    /// initial ≤ max ≤ 1000, 0.01 ≤ max.
    #[must_use]
    pub fn try_new(interval: Nanos, initial_factor: f64, max_factor: f64) -> Option<Self> {
        let valid = (Nanos::from_millis(1)..=Nanos::from_secs(3600)).contains(&interval)
            && valid(initial_factor, max_factor);
        valid.then(|| Self {
            interval,
            start: initial_factor,
            full: max_factor,
            ranks: Ranks::new(),
            rate: 0.0,
            threshold: Ranks::BEYOND,
            next: None,
            refused: 0,
        })
    }

    /// The share to be refused, of the last calibration.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn tick(&mut self, now: Nanos, busy: &Busy) {
        if self.next.is_none_or(|next| next > now + self.interval) {
            self.next = Some(now + self.interval);
        }
        if self.next.is_some_and(|next| now >= next) {
            self.calibrate(busy);
            self.next = Some(now + self.interval);
        }
    }

    #[cold]
    fn calibrate(&mut self, busy: &Busy) {
        self.rate = rate(self.start, self.full, busy);
        self.threshold = if self.rate == 0.0 || self.ranks.len() == 0 {
            Ranks::BEYOND
        } else {
            self.ranks.quantile(self.rate) + 1
        };
    }
}

impl AdmissionRule for Prioritized {
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        rng: &mut R,
    ) -> Result<(), Refusal> {
        self.tick(now, busy);
        if busy.working < busy.workers {
            return Ok(());
        }
        let most = libm::trunc(self.full * f64::from(busy.workers));
        if f64::from(busy.waiting) >= most {
            // As soon as one leaves the queue, which nobody knows.
            self.refused += 1;
            return Err(Refusal::new(Reason::QueueFull, who.class));
        }
        let level = below(u64::from(LEVELS), rng) as u32;
        let rank = u32::from(who.class).min(PRIORITIES - 1) * LEVELS + (LEVELS - 1 - level);
        if rank >= self.threshold {
            self.refused += 1;
            // Or sooner, when a worker is free.
            return Err(Refusal::new(Reason::Shed, who.class));
        }
        self.ranks.push(rank);
        Ok(())
    }
}

impl Observe for Prioritized {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate", self.rate);
        see("threshold", f64::from(self.threshold));
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::PriorityByQueue;
    use crate::testing::Zero;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn busy(waiting: u32) -> Busy {
        Busy { waiting, queue_limit: 1000, working: 10, workers: 10, utilisation: 1.0 }
    }

    fn rng() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(5)
    }

    /// 10 workers: nobody below 20 waiting, everybody from 30 on.
    #[test]
    fn rate_by_hand() {
        let mut p = Prioritized::try_new(MS(1000), 2.0, 3.0).unwrap();
        for (waiting, rate) in [(0, 0.0), (19, 0.0), (20, 0.0), (25, 0.5), (29, 0.9), (30, 1.0)] {
            p.calibrate(&busy(waiting));
            assert_eq!(p.rate(), rate, "{waiting}");
        }
        let mut p = Prioritized::try_new(MS(1000), 0.25, 0.55).unwrap();
        // 2 and 5 of 10, cut.
        for (waiting, rate) in [(2, 0.0), (3, 1.0 / 3.0), (5, 1.0)] {
            p.calibrate(&busy(waiting));
            assert!((p.rate() - rate).abs() < 1e-12, "{waiting}");
        }
        assert_eq!(rate(2.0, 2.0, &busy(19)), 0.0);
        assert_eq!(rate(2.0, 2.0, &busy(20)), 1.0, "nothing between");
    }

    #[test]
    fn quantile_by_hand() {
        let mut p = Prioritized::try_new(MS(1000), 2.0, 3.0).unwrap();
        // Ranks 0 to 499 once each: levels 499 to 0.
        (0..500).for_each(|rank| p.ranks.push(rank));
        for (waiting, refused_from) in [(20, Ranks::BEYOND), (25, 251), (29, 51), (30, 1)] {
            p.calibrate(&busy(waiting));
            assert_eq!(p.threshold, refused_from, "{waiting}");
        }
    }

    #[test]
    fn capacity_comes_before_the_threshold_and_the_maximum_before_both() {
        let mut p = Prioritized::try_new(MS(1000), 2.0, 3.0).unwrap();
        let mut rng = rng();
        p.threshold = 0;
        let free = Busy { working: 9, ..busy(0) };
        assert!(p.admit(MS(0), Who::of(4), &free, &mut rng).is_ok());
        let ask = |p: &mut Prioritized, waiting, rng: &mut _| {
            p.admit(MS(1), Who::of(0), &busy(waiting), rng).map_err(|refusal| refusal.reason)
        };
        assert_eq!(ask(&mut p, 5, &mut rng), Err(Reason::Shed));
        p.threshold = Ranks::BEYOND;
        assert_eq!(ask(&mut p, 29, &mut rng), Ok(()));
        assert_eq!(ask(&mut p, 30, &mut rng), Err(Reason::QueueFull));
        assert_eq!(p.refused, 2);
    }

    /// The first draw of class 0 is its level 400: rank 99.
    #[test]
    fn a_level_at_the_threshold_passes() {
        for (threshold, admitted) in [(99, false), (100, true)] {
            let mut p = Prioritized::try_new(MS(1000), 2.0, 3.0).unwrap();
            p.threshold = threshold;
            assert_eq!(p.admit(MS(0), Who::of(0), &busy(5), &mut Zero).is_ok(), admitted);
        }
    }

    /// A queue of 25 asks for one in two, again and again. As published, every second of the
    /// survivors goes as well, until hardly anybody passes; over all arrivals it stays one in two.
    #[test]
    fn the_share_of_survivors_climbs_and_the_share_of_arrivals_stays() {
        fn passed<A: AdmissionRule>(mut rule: A) -> [u32; 6] {
            let mut rng = rng();
            let mut flow = 0u64;
            let mut passed = [0; 6];
            for (second, passed) in passed.iter_mut().enumerate() {
                for i in 0..4000 {
                    flow = flow.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    let who = Who { class: (i % 5) as u8, flow, user: None };
                    let now = MS(second as u64 * 1000 + i / 4);
                    *passed += u32::from(rule.admit(now, who, &busy(25), &mut rng).is_ok());
                }
            }
            passed
        }
        let published = passed(Prioritized::try_new(MS(1000), 2.0, 3.0).unwrap());
        assert_eq!(published[0], 4000, "not calibrated yet");
        assert!(published[1] < 2200 && published[5] < 1000, "{published:?}");
        assert!(published.is_sorted_by(|a, b| a >= b), "{published:?}");
        let ours = passed(PriorityByQueue::try_new(2.0, 3.0).unwrap());
        assert!(ours.iter().all(|n| (1900..=2200).contains(n)), "{ours:?}");
    }

    #[test]
    fn refuses_impossible_settings() {
        for (interval, start, full) in [
            (Nanos::ZERO, 2.0, 3.0),
            (MS(1000), -1.0, 3.0),
            (MS(1000), 4.0, 3.0),
            (MS(1000), 0.0, 0.0),
            (MS(1000), f64::NAN, 3.0),
            (MS(1000), 2.0, f64::INFINITY),
        ] {
            assert!(Prioritized::try_new(interval, start, full).is_none());
            assert!(PriorityByQueue::try_new(start, full).is_none() || interval == Nanos::ZERO);
        }
    }

    proptest! {
        #[test]
        fn the_rate_is_a_share(
            start in 0.0f64..5.0, more in 0.01f64..5.0, waiting in any::<u32>(),
            workers in any::<u32>(),
        ) {
            let mut p = Prioritized::try_new(MS(1000), start, start + more).unwrap();
            p.ranks.push(3);
            p.calibrate(&Busy { waiting, workers, ..Busy::default() });
            prop_assert!((0.0..=1.0).contains(&p.rate()));
            prop_assert!(p.threshold <= Ranks::BEYOND);
        }
    }
}

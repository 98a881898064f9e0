//! Quarkus' load shedding: a Vegas limit says when, the processor load says whom.
//!
//! Source: Quarkus extension load-shedding, `OverloadDetector` and `PriorityLoadShedding`. The
//! detector is TCP Vegas as in Netflix concurrency-limits, with smaller steps.

use rand_core::Rng;

use super::{AdmissionRule, Busy};
use crate::chance::unit;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::who::{COHORTS, Who};
use crate::{Nanos, Outcome, Reason, Refusal};

/// Quarkus has five priorities, from critical to degraded.
const GROUPS: f64 = 5.0 * COHORTS as f64;
const SECOND: Nanos = Nanos::from_secs(1);
/// Quarkus counts request times in microseconds.
const MICRO: u64 = 1_000;

/// Quarkus' load shedding with priorities.
#[derive(Clone, Debug)]
pub struct Quarkus {
    most: u32,
    alpha: u32,
    beta: u32,
    probe_factor: f64,
    limit: u32,
    lowest: u64,
    probes: f64,
    /// `None`: to be drawn.
    jitter: Option<f64>,
    in_flight: u32,
    threshold: f64,
    computed: Option<Nanos>,
    refused: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "quarkus",
    kind: Kind::Admission,
    summary: "Quarkus' load shedding: above a Vegas limit it refuses the lower classes and cohorts, more of them as the processors fill",
    source: "Quarkus extension load-shedding (OverloadDetector, PriorityLoadShedding)",
    rule: "\
overloaded iff attempts inside >= limit
group     = class × 128 + cohort + 1, 1 to 640; the cohort changes every hour
threshold = 640 × (1 - load^3), at most once a second; load: share of the processors in use
refuse iff overloaded and group > threshold
limit at each end, with lg = 1 + floor(log10 limit):
  every probe_factor × U(0.5, 1) × limit ends:  lowest = this time, and nothing else
  this time < lowest:                           lowest = this time, and nothing else
  2 × inside < limit:                           nothing
  q = ceil(limit × (1 - lowest / time))
  q <= lg: + beta lg;  q < alpha lg: + lg;  q > beta lg: - lg;  within 1 and max_limit",
    when: "Services whose work is on the processors. With idle processors the threshold is 640 and \
           nobody is refused however far the limit is exceeded.",
    traps: &[
        "A service that waits for others has idle processors: it is overloaded by the limit and sheds nobody.",
        "At full load the threshold is 0: everybody is refused, also the highest class.",
        "A probe takes any time as the lowest, so that one during overload raises the limit.",
        "Five classes: those below the fifth are taken for the fifth.",
    ],
    parameters: &[
        Parameter {
            name: "initial_limit",
            unit: Unit::Count,
            default: 100.0,
            min: 1.0,
            max: 1_000_000.0,
            doc: "attempts inside at first",
        },
        Parameter {
            name: "max_limit",
            unit: Unit::Count,
            default: 1000.0,
            min: 1.0,
            max: 1_000_000.0,
            doc: "the limit never exceeds this",
        },
        Parameter {
            name: "alpha_factor",
            unit: Unit::Count,
            default: 3.0,
            min: 1.0,
            max: 1000.0,
            doc: "below this queue, times lg, the limit rises",
        },
        Parameter {
            name: "beta_factor",
            unit: Unit::Count,
            default: 6.0,
            min: 1.0,
            max: 1000.0,
            doc: "above this queue, times lg, the limit falls",
        },
        Parameter {
            name: "probe_factor",
            unit: Unit::Number,
            default: 30.0,
            min: 0.1,
            max: 1_000_000.0,
            doc: "ends between probes, in limits",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts inside from which the service is overloaded"),
        Reading::gauge("inside", "attempts that were admitted and have not ended"),
        Reading::gauge("threshold", "highest group that is admitted under overload"),
        Reading::counter("refused", "attempts refused"),
    ],
    build: Build::Admission(|p| match *p {
        [initial, most, alpha, beta, probe] => {
            Quarkus::try_new(whole(initial)?, whole(most)?, whole(alpha)?, whole(beta)?, probe)
                .map(Into::into)
        }
        _ => None,
    }),
};

impl Quarkus {
    /// A rule with nothing inside. `None` unless 1 ≤ initial ≤ most ≤ 10^6, 1 ≤ alpha ≤ beta ≤
    /// 1000 and 0.1 ≤ probe factor ≤ 10^6.
    #[must_use]
    pub fn try_new(
        initial: u32,
        most: u32,
        alpha: u32,
        beta: u32,
        probe_factor: f64,
    ) -> Option<Self> {
        let valid = (1..=most).contains(&initial)
            && most <= 1_000_000
            && (1..=beta).contains(&alpha)
            && beta <= 1000
            && (0.1..=1e6).contains(&probe_factor);
        valid.then_some(Self {
            most,
            alpha,
            beta,
            probe_factor,
            limit: initial,
            lowest: u64::MAX,
            probes: 0.0,
            jitter: None,
            in_flight: 0,
            threshold: GROUPS,
            computed: None,
            refused: 0,
        })
    }

    /// Attempts inside from which the service is overloaded.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    fn refresh(&mut self, now: Nanos, utilisation: f64) {
        let due = self.computed.is_none_or(|at| now.since(at) > SECOND || now < at);
        if due {
            let load = if utilisation.is_finite() { utilisation.clamp(0.0, 1.0) } else { 0.0 };
            self.threshold = GROUPS * (1.0 - load * load * load);
            self.computed = Some(now);
        }
    }

    fn record(&mut self, micros: u64, inside: u32) {
        self.probes += 1.0;
        // 0.75 stands in where no attempt came between two probes to draw a new one.
        let jitter = self.jitter.unwrap_or(0.75);
        if self.probe_factor * jitter * f64::from(self.limit) <= self.probes {
            self.jitter = None;
            self.probes = 0.0;
            self.lowest = micros;
            return;
        }
        if micros < self.lowest {
            self.lowest = micros;
            return;
        }
        if 2 * u64::from(inside) < u64::from(self.limit) {
            return;
        }
        // A time of zero that is the lowest: no queue.
        let ratio = if micros == 0 { 1.0 } else { self.lowest as f64 / micros as f64 };
        let queue = libm::ceil(f64::from(self.limit) * (1.0 - ratio)) as u32;
        let lg = 1 + self.limit.ilog10();
        let limit = if queue <= lg {
            self.limit + self.beta * lg
        } else if queue < self.alpha * lg {
            self.limit + lg
        } else if queue > self.beta * lg {
            self.limit.saturating_sub(lg)
        } else {
            return;
        };
        self.limit = limit.clamp(1, self.most);
    }
}

impl AdmissionRule for Quarkus {
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        rng: &mut R,
    ) -> Result<(), Refusal> {
        if self.jitter.is_none() {
            self.jitter = Some(0.5 + unit(rng) / 2.0);
        }
        if self.in_flight >= self.limit {
            self.refresh(now, busy.utilisation);
            let group = u32::from(who.class.min(4)) * COHORTS + who.cohort_at(now) + 1;
            if f64::from(group) > self.threshold {
                self.refused += 1;
                return Err(Refusal::new(Reason::Shed, who.class));
            }
        }
        self.in_flight = self.in_flight.saturating_add(1);
        Ok(())
    }

    fn settle(&mut self, _: Nanos, _: Who, latency: Nanos, _: Option<Outcome>) {
        let inside = self.in_flight;
        self.in_flight = inside.saturating_sub(1);
        self.record(latency.0 / MICRO, inside);
    }
}

impl Observe for Quarkus {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit));
        see("inside", f64::from(self.in_flight));
        see("threshold", self.threshold);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Admission;
    use crate::admission::plant::Plant;
    use crate::testing::Zero;
    use proptest::prelude::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn quarkus(initial: u32) -> Quarkus {
        Quarkus::try_new(initial, 1000, 3, 6, 30.0).unwrap()
    }

    impl Quarkus {
        fn ask(&mut self, now: Nanos, who: Who, utilisation: f64) -> bool {
            let busy = Busy { utilisation, ..Busy::default() };
            self.admit(now, who, &busy, &mut Zero).is_ok()
        }
    }

    /// The lowest is 10 ms, all 100 places are taken; lg = 3, alpha 9, beta 18.
    #[test]
    fn limit_by_hand() {
        for (ms, limit) in [
            (10.0, 118),  // q = 0
            (10.3, 118),  // q = ceil(2.91) = 3
            (10.5, 103),  // q = 5
            (10.95, 100), // q = ceil(8.68) = 9, which is not below alpha
            (11.0, 100),  // q = ceil(9.09) = 10
            (12.0, 100),  // q = 17
            (12.12, 100), // q = ceil(17.49) = 18, which is not above beta
            (13.0, 97),   // q = 24
        ] {
            let mut q = quarkus(100);
            q.record(10_000, 100);
            assert_eq!((q.limit, q.lowest), (100, 10_000), "the first sets the lowest");
            q.record((ms * 1000.0) as u64, 49);
            assert_eq!(q.limit, 100, "half empty");
            q.record((ms * 1000.0) as u64, 50);
            assert_eq!(q.limit, limit, "{ms} ms");
        }
    }

    /// With jitter 0.5 the 1500th end at limit 100 is a probe; it takes any time for the lowest.
    #[test]
    fn a_probe_takes_what_it_finds() {
        let mut q = quarkus(100);
        q.jitter = Some(0.5);
        q.record(10_000, 1);
        for _ in 0..1498 {
            q.record(10_000, 1);
        }
        assert_eq!(q.lowest, 10_000);
        q.record(40_000, 100);
        assert_eq!((q.lowest, q.probes, q.jitter, q.limit), (40_000, 0.0, None, 100));
        q.record(40_000, 100);
        assert_eq!(q.limit, 118, "four times the time, and yet it rises");
    }

    /// In a service that is overloaded for long, probes find the queue and take it for the time
    /// without one: the limit climbs past all that can be inside, and nobody is refused.
    #[test]
    fn probes_during_overload_open_the_door() {
        let mut rule = Admission::from(quarkus(100));
        let mut run = Plant::at(2.0).run(&mut rule);
        run.until(MS(20_000));
        let seen = run.until(MS(40_000));
        assert_eq!(seen.refused, [0; 4]);
        assert!(seen.queue_full.iter().sum::<u32>() > 19_000, "{seen:?}");
        let Admission::Quarkus(q) = &rule else { panic!() };
        assert!(q.limit() > 210, "{}: more than workers and queue hold", q.limit());
    }

    #[test]
    fn threshold_by_hand() {
        for (load, threshold) in [(0.0, 640.0), (0.5, 560.0), (0.8, 312.32), (1.0, 0.0)] {
            let mut q = quarkus(1);
            assert!(q.ask(MS(0), Who::of(4), load), "not overloaded");
            let group = |class: u8| Who { class, flow: 0, user: None };
            let admitted = [0, 1, 2, 3, 4].map(|c| q.ask(MS(0), group(c), load));
            assert!((q.threshold - threshold).abs() < 1e-9, "{load}");
            // Groups 1, 129, 257, 385, 513.
            let expected = [1.0, 129.0, 257.0, 385.0, 513.0].map(|g| g <= threshold);
            assert_eq!(admitted, expected, "{load}");
        }
    }

    /// At half load the threshold is 560: the cohort 47 of class 4, which is admitted.
    #[test]
    fn the_group_at_the_threshold_is_admitted() {
        let of = |cohort| {
            (0..)
                .map(|flow| Who { class: 4, flow, user: None })
                .find(|who| who.cohort() == cohort)
                .unwrap()
        };
        for (cohort, admitted) in [(46, true), (47, true), (48, false)] {
            let mut q = quarkus(1);
            assert!(q.ask(MS(0), Who::of(0), 0.5));
            assert_eq!(q.ask(MS(0), of(cohort), 0.5), admitted, "{cohort}");
        }
    }

    #[test]
    fn the_load_is_looked_at_once_a_second() {
        let mut q = quarkus(1);
        assert!(q.ask(MS(0), Who::of(0), 0.0));
        assert!(q.ask(MS(0), Who::of(0), 0.0), "the first look: idle");
        assert!(q.ask(MS(1000), Who::of(0), 1.0), "not yet");
        assert!(!q.ask(MS(1001), Who::of(0), 1.0));
        assert_eq!((q.refused, q.in_flight), (1, 3));
    }

    #[test]
    fn refuses_impossible_settings() {
        for (initial, most, alpha, beta, probe) in [
            (0, 10, 3, 6, 30.0),
            (11, 10, 3, 6, 30.0),
            (1, 1_000_001, 3, 6, 30.0),
            (1, 10, 0, 6, 30.0),
            (1, 10, 7, 6, 30.0),
            (1, 10, 3, 6, f64::NAN),
        ] {
            assert!(Quarkus::try_new(initial, most, alpha, beta, probe).is_none());
        }
    }

    proptest! {
        #[test]
        fn the_limit_stays_in_range(
            most in 1u32..2000, ends in prop::collection::vec((any::<u64>(), any::<u32>()), 1..500),
        ) {
            let mut q = Quarkus::try_new(1, most, 3, 6, 1.0).unwrap();
            for (micros, inside) in ends {
                q.record(micros >> (inside % 64), inside);
                prop_assert!((1..=most).contains(&q.limit));
            }
        }
    }
}

//! For tests: samples, and a service with workers and a first-come queue behind a limiter.

use std::collections::BinaryHeap;

use core::cmp::Reverse;
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256StarStar;

use super::{Limiter, Permit, Sample};
use crate::{Nanos, Outcome, chance};

pub(super) fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

pub(super) fn success(latency: Nanos, in_flight: u32) -> Sample {
    Sample {
        started: Nanos::ZERO,
        latency,
        queued: Nanos::ZERO,
        in_flight,
        outcome: Some(Outcome::Success),
    }
}

pub(super) fn dropped(latency: Nanos, in_flight: u32) -> Sample {
    Sample { outcome: Some(Outcome::TimedOut), ..success(latency, in_flight) }
}

/// Numbers of every size, the extremes often.
fn any_nanos() -> impl Strategy<Value = Nanos> {
    prop_oneof![
        Just(Nanos::ZERO),
        Just(Nanos::MAX),
        (0u32..64, any::<u64>()).prop_map(|(shift, x)| Nanos(x >> shift)),
        (0u64..5_000_000_000).prop_map(Nanos),
    ]
}

/// Any sample at any time: clocks stand still, jump, go back.
pub(super) fn any_sample() -> impl Strategy<Value = (Nanos, Sample)> {
    let outcome = prop_oneof![
        6 => Just(Some(Outcome::Success)),
        1 => Just(None),
        4 => (0usize..6).prop_map(|i| Some(Outcome::ALL[i])),
    ];
    let in_flight = prop_oneof![3 => 0u32..30, 1 => any::<u32>()];
    (any_nanos(), any_nanos(), any_nanos(), any_nanos(), in_flight, outcome).prop_map(
        |(now, started, latency, queued, in_flight, outcome)| {
            (now, Sample { started, latency, queued, in_flight, outcome })
        },
    )
}

/// A service: workers, a first-come queue without a bound, callers that give up. Work that
/// nobody waits for any more is done all the same.
pub(super) struct Plant {
    pub(super) timeout: Nanos,
    /// Poisson arrivals per second.
    pub(super) rate: f64,
    /// Whether work is exponential; else it is within a tenth of its mean.
    pub(super) exponential: bool,
    pub(super) limiter: Limiter,
    now: Nanos,
    free: BinaryHeap<Reverse<Nanos>>,
    ends: BinaryHeap<Reverse<End>>,
    rng: Xoshiro256StarStar,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at: Nanos,
    started: Nanos,
    in_flight: u32,
    queued: Nanos,
    late: bool,
}

/// What happened in a span.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) arrived: u64,
    pub(super) refused: u64,
    pub(super) good: u64,
    pub(super) late: u64,
    /// The smallest limit after an end.
    pub(super) lowest: u32,
    /// The largest limit after an end.
    pub(super) highest: u32,
    /// Mean latency of what was in time, in seconds.
    pub(super) latency_s: f64,
}

impl Plant {
    pub(super) fn new(limit: impl Into<super::Limit>, workers: usize, rate: f64) -> Self {
        Self {
            timeout: Nanos::from_secs(5),
            rate,
            exponential: false,
            limiter: Limiter::try_new(limit.into(), None).unwrap(),
            now: Nanos::ZERO,
            free: (0..workers).map(|_| Reverse(Nanos::ZERO)).collect(),
            ends: BinaryHeap::new(),
            rng: Xoshiro256StarStar::seed_from_u64(7),
        }
    }

    pub(super) fn limit(&self) -> u32 {
        use super::ConcurrencyLimit;
        self.limiter.limit().limit()
    }

    /// Runs for `span` with work that takes `work` in the mean.
    pub(super) fn run(&mut self, span: Nanos, work: Nanos) -> Seen {
        let until = self.now + span;
        let mut seen = Seen { lowest: u32::MAX, ..Seen::default() };
        loop {
            let gap = -libm::log(1.0 - chance::unit(&mut self.rng)) / self.rate;
            let at = self.now + Nanos::from_secs_f64(gap);
            self.settle(at.min(until), &mut seen);
            self.now = at.min(until);
            if at >= until {
                break;
            }
            seen.arrived += 1;
            match self.limiter.acquire(at, 0) {
                Err(_) => seen.refused += 1,
                Ok(_) => self.admit(at, work),
            }
        }
        seen.latency_s /= (seen.good as f64).max(1.0);
        seen
    }

    fn admit(&mut self, at: Nanos, work: Nanos) {
        let draw = chance::unit(&mut self.rng);
        let factor = if self.exponential { -libm::log(1.0 - draw) } else { 0.9 + 0.2 * draw };
        let work = work.scale(factor);
        let Reverse(free) = self.free.pop().unwrap();
        let begin = free.max(at);
        let done = begin + work;
        self.free.push(Reverse(done));
        let late = done.since(at) > self.timeout;
        let end = if late { at + self.timeout } else { done };
        let queued = begin.since(at).min(self.timeout);
        let in_flight = self.limiter.in_flight();
        self.ends.push(Reverse(End { at: end, started: at, in_flight, queued, late }));
    }

    fn settle(&mut self, until: Nanos, seen: &mut Seen) {
        while self.ends.peek().is_some_and(|Reverse(end)| end.at <= until) {
            let Reverse(end) = self.ends.pop().unwrap();
            let permit = Permit { started: end.started, in_flight: end.in_flight, class: 0 };
            let outcome = if end.late { Outcome::TimedOut } else { Outcome::Success };
            self.limiter.release(end.at, permit, end.queued, Some(outcome), &mut self.rng);
            if end.late {
                seen.late += 1;
            } else {
                seen.good += 1;
                seen.latency_s += end.at.since(end.started).as_secs_f64();
            }
            seen.lowest = seen.lowest.min(self.limit());
            seen.highest = seen.highest.max(self.limit());
        }
    }
}

/// One reading of a limiter.
pub(super) fn reading(limiter: &Limiter, name: &str) -> f64 {
    use crate::observe::Observe;
    let mut found = None;
    limiter.observe(&mut |n, value| {
        if n == name {
            found = Some(value);
        }
    });
    found.unwrap()
}

//! The door of one instance: its admission rule, its concurrency limit and its word OVERLOADED,
//! asked in one order wherever they are enforced.
//!
//! 1. [`Guard::ask`] when an attempt comes; before it, the operator's lever.
//! 2. [`Guard::taken`] when a worker takes it up.
//! 3. [`Guard::ended`] when it is no more, however it ended.

use rand_core::Rng;

use crate::admission::{Admission, AdmissionRule as _, Busy};
use crate::concurrency::{Limiter, Permit};
use crate::overload::Detector;
use crate::{Nanos, Outcome, Refusal, Who};

/// Time constant of [`Utilisation`], in nanoseconds.
const SECOND: f64 = 1e9;

/// What decides at one instance.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Whom it lets in.
    pub admission: Option<Admission>,
    /// How many it lets in at the same time.
    pub limiter: Option<Limiter>,
    /// When it says OVERLOADED.
    pub detector: Option<Detector>,
}

/// An attempt that a guard has let in.
#[derive(Clone, Copy, Debug)]
pub struct Guarded {
    admitted: Nanos,
    queued: Nanos,
    permit: Option<Permit>,
}

/// Which part of a guard turned an attempt away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// The admission rule: it was shed.
    Shed(Refusal),
    /// The concurrency limit: it was rejected.
    Limited(Refusal),
}

impl Turned {
    /// Why.
    #[must_use]
    pub const fn refusal(self) -> Refusal {
        match self {
            Self::Shed(refusal) | Self::Limited(refusal) => refusal,
        }
    }

    /// What it is to the caller.
    #[must_use]
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Shed(_) => Outcome::Shed,
            Self::Limited(_) => Outcome::Rejected,
        }
    }
}

impl Guard {
    /// Whether it can turn anybody away, or say anything.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        self.admission.is_some() || self.limiter.is_some() || self.detector.is_some()
    }

    /// An attempt comes.
    ///
    /// # Errors
    /// It is turned away before any work.
    #[inline]
    pub fn ask<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        rng: &mut R,
    ) -> Result<Guarded, Turned> {
        if let Some(detector) = &mut self.detector {
            detector.look(now, busy.waiting, busy.queue_limit, busy.utilisation);
        }
        if let Some(rule) = &mut self.admission {
            rule.admit(now, who, busy, rng).map_err(Turned::Shed)?;
        }
        let permit = match self.limiter.as_mut().map(|l| l.acquire(now, who.class)) {
            None => None,
            Some(Ok(permit)) => Some(permit),
            Some(Err(refusal)) => {
                // The rule has let in somebody whom there is no place for.
                if let Some(rule) = &mut self.admission {
                    rule.settle(now, who, Nanos::ZERO, None);
                }
                return Err(Turned::Limited(refusal));
            }
        };
        Ok(Guarded { admitted: now, queued: Nanos::ZERO, permit })
    }

    /// A worker takes it up after it has waited for `waited`.
    #[inline]
    pub fn taken(
        &mut self,
        now: Nanos,
        who: Who,
        guarded: &mut Guarded,
        waited: Nanos,
        busy: &Busy,
    ) {
        guarded.queued = waited;
        if let Some(rule) = &mut self.admission {
            rule.taken(now, who, waited, busy);
        }
    }

    /// It is no more. `None`: nobody knows how it ended.
    #[inline]
    pub fn ended<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        guarded: Guarded,
        outcome: Option<Outcome>,
        rng: &mut R,
    ) {
        let Guarded { admitted, queued, permit } = guarded;
        if let Some(rule) = &mut self.admission {
            rule.settle(now, who, now.since(admitted), outcome);
        }
        if let (Some(limiter), Some(permit)) = (&mut self.limiter, permit) {
            limiter.release(now, permit, queued, outcome, rng);
        }
    }

    /// The highest rank that it lets in now, if it tells.
    #[must_use]
    pub fn threshold(&self) -> Option<u32> {
        self.admission.as_ref()?.threshold()
    }

    /// Whether it found itself overloaded when it last looked.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.detector.as_ref().is_some_and(Detector::is_overloaded)
    }
}

/// The share of busy workers, smoothed over about a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// The smoothed share when it was last brought up to date.
    value: f64,
    seen: Nanos,
    area: f64,
}

impl Utilisation {
    /// Brings it up to date. `area` is the integral of busy workers over time, in
    /// worker-nanoseconds; of `workers` there are so many.
    #[inline]
    pub fn at(&mut self, now: Nanos, area: f64, workers: f64) -> f64 {
        let passed = now.since(self.seen).0 as f64;
        if passed > 0.0 {
            let share = ((area - self.area) / (passed * workers)).min(1.0);
            self.value += (1.0 - libm::exp(-passed / SECOND)) * (share - self.value);
            (self.seen, self.area) = (now, area);
        }
        self.value
    }

    /// The integral of busy workers, which was `area`, is counted from zero again.
    pub fn starts_over(&mut self, area: f64) {
        self.area -= area;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;
    use crate::concurrency::{Fixed, Limit};
    use crate::observe::Observe as _;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng as _;

    fn limiter(limit: u32) -> Limiter {
        Limiter::try_new(Limit::from(Fixed::try_new(limit).unwrap()), None).unwrap()
    }

    #[test]
    fn what_the_limit_refuses_is_counted_and_the_rest_comes_back() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut guard = Guard { limiter: Some(limiter(1)), ..Guard::default() };
        let busy = Busy { queue_limit: 10, workers: 1, ..Busy::default() };
        let who = Who::of(2);
        let first = guard.ask(Nanos(1), who, &busy, &mut rng).unwrap();
        let turned = guard.ask(Nanos(2), who, &busy, &mut rng).unwrap_err();
        assert_eq!(turned, Turned::Limited(Refusal::new(Reason::ConcurrencyLimited, 2)));
        assert_eq!(turned.outcome(), Outcome::Rejected);
        guard.ended(Nanos(3), who, first, Some(Outcome::Success), &mut rng);
        assert!(guard.ask(Nanos(4), who, &busy, &mut rng).is_ok());
        let mut refused = 0.0;
        guard.limiter.as_ref().unwrap().observe(&mut |name, value| {
            refused += if name == "refused" { value } else { 0.0 };
        });
        assert_eq!(refused, 1.0);
    }

    #[test]
    fn it_says_overloaded_when_its_queue_is_long() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let detector = Detector::try_new(80.0, 90.0, Nanos::ZERO);
        let mut guard = Guard { detector, ..Guard::default() };
        assert!(guard.is_there() && !Guard::default().is_there());
        for (waiting, over) in [(8, false), (9, true), (0, false)] {
            let busy = Busy { waiting, queue_limit: 10, ..Busy::default() };
            let _ = guard.ask(Nanos(1), Who::of(0), &busy, &mut rng).unwrap();
            assert_eq!(guard.is_overloaded(), over, "{waiting}");
        }
    }

    #[test]
    fn utilisation_goes_to_the_share_of_busy_workers() {
        let mut utilisation = Utilisation::default();
        let second = |s: u64| Nanos::from_secs(s);
        for s in 1..=10 {
            utilisation.at(second(s), s as f64 * 1e9, 2.0);
        }
        let half = utilisation.at(second(10), 10e9, 2.0);
        assert!((half - 0.5).abs() < 1e-3, "{half}");
        utilisation.starts_over(10e9);
        let after = utilisation.at(second(11), 0.0, 2.0);
        assert!((after - 0.5 * libm::exp(-1.0)).abs() < 1e-3, "{after}");
    }
}

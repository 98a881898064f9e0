//! The generic cell rate algorithm, whose whole state is one instant.
//!
//! Source: ITU-T I.371 (virtual scheduling); the form of the Rust crate governor, which Linkerd's
//! HTTPLocalRateLimitPolicy uses.

use crate::Nanos;

/// A rate limit that remembers only when its next cell is due.
///
/// ```text
/// t   = floor(1 s / rate), at least 1 ns        emission interval
/// tau = t × (burst - 1)                         tolerance
/// admit iff now >= tat - tau;  then tat = max(tat, now) + t
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    interval: u64,
    tolerance: u64,
    /// The theoretical arrival time: when a cell that keeps to the rate exactly would come next.
    due: u64,
}

impl Gcra {
    /// The longest burst in time: half of all time there is, so that no sum overflows early.
    const LONGEST: u64 = u64::MAX / 2;

    /// A limit of `rate` per second that may admit `burst` at once. `None` unless `rate` is
    /// positive and finite, `burst` at least 1, and a whole burst takes less than 292 years.
    #[must_use]
    pub fn try_new(rate: f64, burst: u32) -> Option<Self> {
        if !(rate > 0.0 && rate.is_finite()) {
            return None;
        }
        Self::every(Nanos((1e9 / rate) as u64), burst)
    }

    /// A limit of one per `interval` (at least 1 ns) that may admit `burst` at once. `None` as
    /// for [`Gcra::try_new`].
    #[must_use]
    pub fn every(interval: Nanos, burst: u32) -> Option<Self> {
        let interval = interval.0.max(1);
        let whole = interval.checked_mul(u64::from(burst))?;
        (burst >= 1 && whole <= Self::LONGEST).then(|| Self {
            interval,
            tolerance: whole - interval,
            due: 0,
        })
    }

    /// Admits one, or refuses and changes nothing.
    #[inline]
    pub fn try_acquire(&mut self, now: Nanos) -> bool {
        let allowed = now.0 >= self.due.saturating_sub(self.tolerance);
        if allowed {
            self.due = self.due.max(now.0).saturating_add(self.interval);
        }
        allowed
    }

    /// When one will be admitted if nobody else comes; `now` if it would be now.
    #[inline]
    #[must_use]
    pub fn earliest(&self, now: Nanos) -> Nanos {
        Nanos(self.due.saturating_sub(self.tolerance)).max(now)
    }

    /// When the next cell is due if all keep to the rate (the "theoretical arrival time").
    #[must_use]
    pub fn due(&self) -> Nanos {
        Nanos(self.due)
    }

    /// The time between two emissions.
    #[must_use]
    pub fn interval(&self) -> Nanos {
        Nanos(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_limit::TokenBucket;
    use proptest::prelude::*;

    /// 10 per second, burst 3: t = 100 ms, tau = 200 ms.
    #[test]
    fn worked_by_hand() {
        let at = Nanos::from_millis;
        let mut g = Gcra::try_new(10.0, 3).unwrap();
        assert_eq!((g.interval(), g.tolerance), (at(100), 200_000_000));
        for (now, allowed, due, earliest) in [
            (1_000, true, 1_100, 1_000),
            (1_000, true, 1_200, 1_000),
            (1_000, true, 1_300, 1_100),
            (1_000, false, 1_300, 1_100),
            (1_099, false, 1_300, 1_100),
            (1_100, true, 1_400, 1_200),
            (1_350, true, 1_500, 1_350), // due - tau = 1300: one more at once
            (1_350, true, 1_600, 1_400),
            (1_350, false, 1_600, 1_400),
            (900, false, 1_600, 1_400), // a clock that goes back earns nothing
            (9_000, true, 9_100, 9_000),
        ] {
            assert_eq!(g.try_acquire(at(now)), allowed, "at {now}");
            assert_eq!((g.due(), g.earliest(at(now))), (at(due), at(earliest)), "at {now}");
        }
    }

    #[test]
    fn the_interval_is_cut_to_a_nanosecond() {
        assert_eq!(Gcra::try_new(3.0, 1).unwrap().interval(), Nanos(333_333_333));
        assert_eq!(Gcra::try_new(1e12, 1).unwrap().interval(), Nanos(1));
    }

    /// governor before its pull request 251 had tau = t × burst and started at now + t: the burst
    /// at the start was right, every burst after a rest had one too many.
    #[test]
    fn a_burst_is_the_same_at_the_start_and_after_a_rest() {
        let (t, burst) = (100u64, 3u64);
        let mut tat = None;
        let mut old = |now: u64| {
            let due = tat.unwrap_or(now + t);
            let allowed = now >= due - (t * burst).min(due);
            if allowed {
                tat = Some(due.max(now) + t);
            }
            allowed
        };
        let mut new = Gcra::every(Nanos(t), 3).unwrap();
        let bursts = [1_000, 50_000].map(|now| {
            let ours = (0..10).filter(|_| new.try_acquire(Nanos(now))).count();
            let theirs = (0..10).filter(|_| old(now)).count();
            (ours, theirs)
        });
        assert_eq!(bursts, [(3, 3), (3, 4)]);
    }

    #[test]
    fn refuses_impossible_settings() {
        for (rate, burst) in
            [(0.0, 1), (-1.0, 1), (f64::NAN, 1), (f64::INFINITY, 1), (1.0, 0), (1e-3, u32::MAX)]
        {
            assert!(Gcra::try_new(rate, burst).is_none(), "{rate} {burst}");
        }
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        let mut g = Gcra::try_new(0.001, 1000).unwrap();
        for now in [Nanos::MAX, Nanos::ZERO, Nanos(1), Nanos::MAX] {
            g.try_acquire(now);
            assert!(g.earliest(now) >= now);
        }
    }

    proptest! {
        /// The same admissions as a bucket that counts whole nanoseconds of credit.
        #[test]
        fn admits_what_a_token_bucket_admits(
            interval in 1u64..1_000_000, burst in 1u32..50,
            steps in prop::collection::vec(0u64..3_000_000, 1..300),
        ) {
            let mut g = Gcra::every(Nanos(interval), burst).unwrap();
            let full = interval * u64::from(burst);
            let (mut credit, mut now) = (full, 0);
            for step in steps {
                now += step;
                credit = (credit + step).min(full);
                let allowed = credit >= interval;
                credit -= if allowed { interval } else { 0 };
                prop_assert_eq!(g.try_acquire(Nanos(now)), allowed);
                if !allowed {
                    prop_assert_eq!(g.earliest(Nanos(now)), Nanos(now + interval - credit));
                }
            }
        }

        /// With intervals that a float represents exactly, the float bucket agrees as well.
        #[test]
        fn admits_what_our_token_bucket_admits(
            power in 0u32..20, burst in 1u32..50,
            steps in prop::collection::vec(0u64..3_000_000, 1..300),
        ) {
            let interval = 1u64 << power;
            let mut g = Gcra::every(Nanos(interval), burst).unwrap();
            let mut bucket =
                TokenBucket::try_new(1e9 / interval as f64, f64::from(burst)).unwrap();
            let mut now = 0;
            for step in steps {
                now += step;
                prop_assert_eq!(g.try_acquire(Nanos(now)), bucket.try_acquire(Nanos(now)));
            }
        }

        #[test]
        fn no_window_admits_more_than_burst_plus_rate(
            interval in 1u64..1_000, burst in 1u32..20,
            times in prop::collection::vec(0u64..20_000, 1..200),
        ) {
            // Times in any order: the clock goes back as well.
            let mut g = Gcra::every(Nanos(interval), burst).unwrap();
            let admitted = times.iter().filter(|t| g.try_acquire(Nanos(**t))).count() as u64;
            prop_assert!(admitted <= u64::from(burst) + 20_000 / interval);
        }
    }
}

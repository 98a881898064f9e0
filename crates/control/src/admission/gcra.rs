//! Linkerd's local rate limit: the generic cell rate algorithm.
//!
//! Source: linkerd2-proxy `http/local-rate-limit` over the crate governor. A quota of n requests
//! per second is an emission every 1/n s and a burst of n.

use rand_core::Rng;

use super::rate::RateLimit;
use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::rate_limit::Gcra;
use crate::who::Who;
use crate::{Nanos, Reason, Refusal};

/// The generic cell rate algorithm at the door.
#[derive(Clone, Debug)]
pub struct CellRate {
    gcra: Gcra,
    admitted: u64,
    refused: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "gcra",
    kind: Kind::Admission,
    summary: "Linkerd's local rate limit: a token bucket whose state is one instant",
    source: "ITU-T I.371; governor (gcra.rs, pull request 251); Linkerd HTTPLocalRateLimitPolicy",
    rule: "\
t   = floor(1 s / rate) in nanoseconds, at least 1
tau = t × (burst - 1)
admit iff now >= tat - tau;  then tat = max(tat, now) + t",
    when: "Where a rate limit must fit into one word. It admits what a token bucket of the same \
           rate and burst admits.",
    traps: &[
        "governor before its pull request 251 admitted burst + 1 after a rest.",
        "The interval is cut to a nanosecond: 3/s admits one in 333,333,333 ns.",
        "Linkerd checks the total first; a token taken from it is not given back when the limit of the client then refuses.",
        "Linkerd's limit is for one proxy: n replicas admit n times as much.",
    ],
    parameters: &[
        Parameter {
            name: "rate",
            unit: Unit::Rate,
            default: RateLimit::DEFAULT_RATE,
            min: RateLimit::MIN_RATE,
            max: RateLimit::MAX_RATE,
            doc: "attempts admitted per second in the long run",
        },
        Parameter {
            name: "burst",
            unit: Unit::Count,
            default: 0.0,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "attempts admitted at once after a rest; 0: those of one second, as Linkerd has it",
        },
    ],
    readings: &[
        Reading::gauge("due_s", "when the next would come if all kept to the rate (tat)"),
        Reading::counter("admitted", "attempts admitted"),
        Reading::counter("refused", "attempts refused (inbound_http_local_ratelimit_total)"),
    ],
    build: Build::Admission(|p| match *p {
        [rate, burst] => CellRate::try_new(rate, whole(burst)?).map(Into::into),
        _ => None,
    }),
};

impl CellRate {
    /// A limit of `rate` per second; a `burst` of 0 is that of one second, and at least 1. `None`
    /// unless `rate` is within [`RateLimit::MIN_RATE`] and [`RateLimit::MAX_RATE`], and if a
    /// whole burst would take centuries.
    #[must_use]
    pub fn try_new(rate: f64, burst: u32) -> Option<Self> {
        if !(RateLimit::MIN_RATE..=RateLimit::MAX_RATE).contains(&rate) {
            return None;
        }
        let burst = if burst == 0 { (rate as u32).max(1) } else { burst };
        Some(Self { gcra: Gcra::try_new(rate, burst)?, admitted: 0, refused: 0 })
    }
}

impl AdmissionRule for CellRate {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        _: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        if self.gcra.try_acquire(now) {
            self.admitted += 1;
            return Ok(());
        }
        self.refused += 1;
        Err(Refusal::new(Reason::RateLimited, who.class).until(self.gcra.earliest(now)))
    }
}

impl Observe for CellRate {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("due_s", self.gcra.due().as_secs_f64());
        see("admitted", self.admitted as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;

    /// Linkerd with 4 requests per second: burst 4, then one every 250 ms.
    #[test]
    fn linkerd_by_hand() {
        let ms = Nanos::from_millis;
        let mut c = CellRate::try_new(4.0, 0).unwrap();
        let mut ask = |now| c.admit(ms(now), Who::of(1), &Busy::default(), &mut Zero);
        assert!((0..4).all(|_| ask(2_000).is_ok()));
        let refused = Refusal::new(Reason::RateLimited, 1);
        assert_eq!(ask(2_000), Err(refused.until(ms(2_250))));
        assert_eq!(ask(2_249), Err(refused.until(ms(2_250))));
        assert_eq!(ask(2_250), Ok(()));
        assert_eq!(ask(2_250), Err(refused.until(ms(2_500))));
        assert_eq!((c.gcra.due(), c.admitted, c.refused), (ms(3_250), 5, 3));
    }

    #[test]
    fn a_rate_below_one_has_a_burst_of_one() {
        let mut c = CellRate::try_new(0.5, 0).unwrap();
        let mut ask = |s| c.admit(Nanos::from_secs(s), Who::of(0), &Busy::default(), &mut Zero);
        assert_eq!([0, 1, 2, 3, 4].map(|s| ask(s).is_ok()), [true, false, true, false, true]);
    }

    #[test]
    fn refuses_impossible_settings() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e10] {
            assert!(CellRate::try_new(rate, 1).is_none(), "{rate}");
        }
        assert!(CellRate::try_new(0.001, u32::MAX).is_none());
    }
}

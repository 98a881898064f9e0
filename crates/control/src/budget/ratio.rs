//! Concurrent retries as a share of the calls that are open: one population on both sides.
//!
//! Source: ours. Envoy's idea (see `envoy`) with the accounting that issue 30205 asks for.
//!
//! A call is *open* from its first attempt until it has ended for good. Each open call is in
//! exactly one of three states, so what is compared comes from one set of calls:
//!
//! - its first attempt is in flight;
//! - it has been granted a retry, which waits in its backoff or is in flight: a *retry*;
//! - its last attempt has just ended in a failure that the policy retries, and it may ask:
//!   *undecided*.
//!
//! ```text
//! limit   = max(floor(percent × (first attempts in flight + retries + undecided)), min_retry_concurrency)
//! allowed = retries < limit
//! ```
//!
//! The call that asks is itself undecided, so it is in the base whether it asks at once or after
//! others have ended; that settles the order that 30205 leaves open. A caller asks directly after
//! the attempt has ended, so a call is undecided only at the instant of that end: one that has
//! not asked by then (its limit is reached, its deadline too close) is closed. Until that instant
//! is over such a call cannot be told from one that will ask, and counts. A denied call is closed. A call stands once in the base however many attempts it makes (25501).
//!
//! Waiting retries count in the numerator. Leaving them out would let an outage of 1000 calls
//! plan 1000 retries under a budget of 20 %.

use rand_core::Rng;

use super::calls::OpenCalls;
use super::share::Share;
use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// Concurrent retries as a share of open calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatioBudget {
    share: Share,
    min_retry_concurrency: u32,
    calls: OpenCalls,
    granted: u64,
    denied: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "ratio",
    kind: Kind::Budget,
    summary: "concurrent retries as an exact share of open calls: Envoy's budget with its accounting corrected",
    source: "Damper; corrects envoy issues 30205 (waiting retries) and 25501 (retries counted twice)",
    rule: "\
open calls = first attempts in flight + retries waiting or in flight + calls whose attempt ended just now and may ask
limit      = max(floor(percent × open calls), min_retry_concurrency)
allowed    = retries waiting or in flight < limit
exact: the percentage has three decimals, and the product is one of integers",
    when: "A caller with many concurrent calls. It adapts to load at once, needs no window and no \
           memory, and allows retries again as soon as attempts stop failing.",
    traps: &[
        "It bounds concurrency, not rate: attempts that fail in 1 ms make many retries per second.",
        "A caller with few concurrent calls lives on `min_retry_concurrency` (envoy 25660).",
        "Long backoffs fill the slots: retries that wait keep others from being granted.",
        "With a floor of 0 a caller that makes one call at a time never retries below 100 %.",
    ],
    parameters: &[
        Parameter {
            name: "percent",
            unit: Unit::Percent,
            default: RatioBudget::DEFAULT_PERCENT,
            min: 0.0,
            max: 100.0,
            doc: "retries as a share of open calls; three decimals are kept, so 0 or at least 0.0005",
        },
        Parameter {
            name: "min_retry_concurrency",
            unit: Unit::Count,
            default: RatioBudget::DEFAULT_MIN_RETRY_CONCURRENCY as f64,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "retries always allowed at the same time",
        },
    ],
    readings: &[
        Reading::gauge("open", "calls that are open"),
        Reading::gauge("retries", "retries scheduled or in flight"),
        Reading::gauge("limit", "retries that may be scheduled or in flight now"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
    ],
    build: Build::Budget(|p| match *p {
        [percent, floor] => RatioBudget::try_new(percent, whole(floor)?).map(Into::into),
        _ => None,
    }),
};

impl RatioBudget {
    /// Envoy's default percentage.
    pub const DEFAULT_PERCENT: f64 = 20.0;
    /// Envoy's default floor.
    pub const DEFAULT_MIN_RETRY_CONCURRENCY: u32 = 3;

    /// A budget of `percent` of the open calls, to three decimals. `None` unless
    /// 0 ≤ percent ≤ 100, and 0 or at least 0.0005.
    #[must_use]
    pub fn try_new(percent: f64, min_retry_concurrency: u32) -> Option<Self> {
        Some(Self {
            share: Share::try_new(percent, 100.0)?,
            min_retry_concurrency,
            calls: OpenCalls::NONE,
            granted: 0,
            denied: 0,
        })
    }

    /// Calls that are open.
    #[inline]
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.calls.count()
    }

    /// Retries scheduled or in flight.
    #[must_use]
    pub const fn retries(&self) -> u32 {
        self.calls.retries
    }

    /// How many retries may be scheduled or in flight now.
    #[inline]
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.share.whole_of(self.open()).max(u64::from(self.min_retry_concurrency))
    }
}

impl RetryBudget for RatioBudget {
    #[inline]
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        self.calls.start(now, attempt);
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        attempt: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        self.calls.settle(now, attempt, outcome, retryable);
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        self.calls.ask(now);
        let allowed = u64::from(self.calls.retries) < self.limit();
        self.calls.answer(allowed);
        self.granted += u64::from(allowed);
        self.denied += u64::from(!allowed);
        allowed.then_some(1)
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, _: u32) {
        self.calls.cancel(now);
    }
}

impl Observe for RatioBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("open", self.open() as f64);
        see("retries", f64::from(self.calls.retries));
        see("limit", self.limit() as f64);
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests;

//! Adaptive Retry Budgeting: a share of base load that goes down as failures go up.
//!
//! Source: arXiv 2608.25403. What its summary gives: a budget per tier in proportion to base load,
//! moved by an exponential moving average of failures; on a failure a random draw and a decrement;
//! an adjustment by a timer in constant time; five parameters and a few scalars per upstream; a tier
//! that says OVERLOADED makes the tier above cut its budget at once, and so on upward. It does not
//! give the formulas. They are ours, each with its reason:
//!
//! - *Every first attempt adds `ratio` to the stock.* In proportion to base load without any lag:
//!   when load falls, so does the income, at once.
//! - *`ratio = min + (max - min) × (1 - failing)²`.* A retry wins with probability `1 - failing`, and
//!   what it costs a loaded callee grows as that falls; the square has both. At 1 % failures
//!   98 % of the span is left, at 50 % a quarter, at 100 % nothing.
//! - *`failing` is an average over intervals, not attempts*, or a storm of attempts would hurry it.
//!   An interval without attempts counts as one without failures: that is how it recovers unseen.
//! - *The stock holds at most one interval's budget, `level = ratio × base`*, with `base` the moving
//!   average of first attempts per interval, and never less than three retries: a client with few
//!   calls must be able to save up for one.
//! - *The draw*: granted for sure while half of `level` is there; below, with probability
//!   `2 × stock / level`. Early, random refusals share what is left among callers and keep a fleet
//!   of clients from running dry in step. In transient faults nothing is drawn.
//! - *The timer* is looked at with each event: whole intervals that went by are taken in one step.
//! - *OVERLOADED*: stock to zero, and `ratio` at its minimum for `hold`, to the next edge of an
//!   interval. For that time the owner tells its own callers the same, and also while `failing` has
//!   taken half of the span: then its callers' retries are no better spent.
//!
//! Promise: in any span of time, granted retries (less those never sent) ≤ `max` × first attempts in
//! that span + the stock at its start, which is at most max(3, `max` × the busiest interval before).

use rand_core::Rng;

use super::{Attempt, RetryBudget, unseen};
use crate::chance;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// One retry in the unit of the stock.
const RETRY: u64 = 1_000_000;
/// The least that the stock may hold.
const LEAST: u64 = 3 * RETRY;
/// Half of the span is gone: `(1 - failing)² < 1/2`.
const HALF_GONE: f64 = 1.0 - core::f64::consts::FRAC_1_SQRT_2;

/// Adaptive Retry Budgeting.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveBudget {
    max: f64,
    min: f64,
    /// What is left of an average after one interval.
    keep: f64,
    interval: u64,
    hold: Nanos,
    base: f64,
    failing: f64,
    /// What a first attempt adds.
    ratio: u64,
    level: u64,
    stock: u64,
    /// Where the interval ends.
    ends: u64,
    firsts: u32,
    ended: u32,
    failed: u32,
    cut_until: Nanos,
    granted: u64,
    denied: u64,
    cuts: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "arb",
    kind: Kind::Budget,
    summary: "Adaptive Retry Budgeting: a share of base load that failures and OVERLOADED from below take away",
    source: "arXiv 2608.25403; the formulas, which its summary leaves open, are Damper's",
    rule: "\
each interval:  keep    = exp(-interval / memory)
                base    = keep × base + (1 - keep) × first attempts in it
                failing = keep × failing + (1 - keep) × failed / ended in it   (0 if nothing ended)
                          an attempt whose caller left has not ended
                ratio   = min + (max - min) × (1 - failing)²;  min while cut
                level   = max(3, ratio × base);  stock = min(stock, level)
first attempt:  stock = min(level, stock + ratio)
retry:          denied if stock < 1
                allowed if 2 × stock >= level, or else with probability 2 × stock / level
                then stock -= 1
not sent:       stock = min(level, stock + 1)
OVERLOADED:     stock = 0, ratio = min, cut for `hold`
passes on:      while cut, or while failing > 1 - 1/√2",
    when: "A chain of tiers that all can say OVERLOADED. It costs nothing in transient faults and \
           comes down to `min_percent` by itself in an outage; the caller's own failures are enough.",
    traps: &[
        "It reacts in the time of `memory`: an outage of one second meets a full budget, which is its bound.",
        "A failure that more load does not cause lowers it too: it cannot tell a bug from an overload.",
        "Each client has an average of its own; with a call now and then it knows little.",
        "It recovers in a few times `memory`, not at once.",
        "Whoever is told passes it on for `hold`, so each tier of a chain is cut for `hold` longer than the one below.",
    ],
    parameters: &[
        Parameter {
            name: "max_percent",
            unit: Unit::Percent,
            default: AdaptiveBudget::DEFAULT_MAX_PERCENT,
            min: 0.0,
            max: 1000.0,
            doc: "retries as a share of first attempts when nothing fails",
        },
        Parameter {
            name: "min_percent",
            unit: Unit::Percent,
            default: AdaptiveBudget::DEFAULT_MIN_PERCENT,
            min: 0.0,
            max: 1000.0,
            doc: "what is left of that when everything fails, or after OVERLOADED; at most max_percent",
        },
        Parameter {
            name: "memory",
            unit: Unit::Duration,
            default: 10.0,
            min: 0.001,
            max: 86_400.0,
            doc: "time constant of both averages",
        },
        Parameter {
            name: "interval",
            unit: Unit::Duration,
            default: 1.0,
            min: 0.001,
            max: 86_400.0,
            doc: "time between two adjustments",
        },
        Parameter {
            name: "hold",
            unit: Unit::Duration,
            default: 5.0,
            min: 0.0,
            max: 86_400.0,
            doc: "how long OVERLOADED from below cuts the budget",
        },
    ],
    readings: &[
        Reading::gauge("base", "first attempts per interval, averaged"),
        Reading::gauge("failing", "failed attempts as a share of all, averaged"),
        Reading::gauge("ratio", "retries that a first attempt adds now"),
        Reading::gauge("stock", "retries in stock"),
        Reading::counter("granted", "retries granted"),
        Reading::counter("denied", "retries denied"),
        Reading::counter("cuts", "times that OVERLOADED from below cut it"),
    ],
    build: Build::Budget(|p| match *p {
        [max, min, memory, interval, hold] => {
            AdaptiveBudget::try_new(max, min, seconds(memory)?, seconds(interval)?, seconds(hold)?)
                .map(Into::into)
        }
        _ => None,
    }),
};

impl AdaptiveBudget {
    /// The share of base load at rest, in percent: Envoy's and Finagle's.
    pub const DEFAULT_MAX_PERCENT: f64 = 20.0;
    /// The share in an outage, in percent: enough to see that it is over.
    pub const DEFAULT_MIN_PERCENT: f64 = 1.0;

    /// A budget that has seen nothing yet: three retries. `None` unless
    /// 0 ≤ `min_percent` ≤ `max_percent` ≤ 1000, `memory` and `interval` are in 1 ms..=1 day, and
    /// `hold` is at most one day.
    #[must_use]
    pub fn try_new(
        max_percent: f64,
        min_percent: f64,
        memory: Nanos,
        interval: Nanos,
        hold: Nanos,
    ) -> Option<Self> {
        const DAY: Nanos = Nanos::from_secs(86_400);
        let times = Nanos::from_millis(1)..=DAY;
        let valid = (0.0..=1000.0).contains(&max_percent)
            && (0.0..=max_percent).contains(&min_percent)
            && times.contains(&memory)
            && times.contains(&interval)
            && hold <= DAY;
        let mut budget = Self {
            max: max_percent / 100.0,
            min: min_percent / 100.0,
            keep: libm::exp(-(interval.0 as f64) / memory.0 as f64),
            interval: interval.0,
            hold,
            base: 0.0,
            failing: 0.0,
            ratio: 0,
            level: LEAST,
            stock: LEAST,
            ends: interval.0,
            firsts: 0,
            ended: 0,
            failed: 0,
            cut_until: Nanos::ZERO,
            granted: 0,
            denied: 0,
            cuts: 0,
        };
        valid.then(|| {
            budget.set(budget.max);
            budget
        })
    }

    /// Failed attempts as a share of all, averaged.
    #[must_use]
    pub const fn failing(&self) -> f64 {
        self.failing
    }

    /// Whole intervals that are over at `now` and not yet taken into account.
    #[inline]
    const fn over(&self, now: Nanos) -> u64 {
        // The last interval that u64 can hold never ends.
        if now.0 < self.ends || self.ends == u64::MAX {
            0
        } else {
            (now.0 - self.ends) / self.interval + 1
        }
    }

    #[inline]
    fn adjust(&mut self, now: Nanos) {
        if now.0 >= self.ends {
            self.turn(now);
        }
    }

    #[cold]
    fn turn(&mut self, now: Nanos) {
        let over = self.over(now);
        if over == 0 {
            return;
        }
        let share =
            if self.ended == 0 { 0.0 } else { f64::from(self.failed) / f64::from(self.ended) };
        let gone = self.decay(over - 1);
        self.base = (self.base + (1.0 - self.keep) * (f64::from(self.firsts) - self.base)) * gone;
        self.failing = (self.failing + (1.0 - self.keep) * (share - self.failing)) * gone;
        (self.firsts, self.ended, self.failed) = (0, 0, 0);
        self.ends = self.ends.saturating_add(over.saturating_mul(self.interval));
        let left = (1.0 - self.failing) * (1.0 - self.failing);
        self.set(if now < self.cut_until {
            self.min
        } else {
            self.min + (self.max - self.min) * left
        });
    }

    /// What is left of an average after so many empty intervals.
    fn decay(&self, intervals: u64) -> f64 {
        if intervals == 0 { 1.0 } else { libm::pow(self.keep, intervals as f64) }
    }

    fn set(&mut self, ratio: f64) {
        self.ratio = libm::round(ratio * RETRY as f64) as u64;
        self.level = ((self.ratio as f64 * self.base) as u64).max(LEAST);
        self.stock = self.stock.min(self.level);
    }
}

impl RetryBudget for AdaptiveBudget {
    #[inline]
    fn start(&mut self, now: Nanos, attempt: Attempt) {
        self.adjust(now);
        if !attempt.is_retry() {
            self.firsts = self.firsts.saturating_add(1);
            self.stock = (self.stock + self.ratio).min(self.level);
        }
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        self.adjust(now);
        if self.ended < u32::MAX && !unseen(outcome, retryable) {
            self.ended += 1;
            self.failed += u32::from(retryable && outcome != Outcome::Success);
        }
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        rng: &mut R,
    ) -> Option<u32> {
        self.adjust(now);
        let enough = self.stock >= RETRY
            && (2 * self.stock >= self.level || chance::below(self.level, rng) < 2 * self.stock);
        if enough {
            self.stock -= RETRY;
            self.granted += 1;
            Some(1)
        } else {
            self.denied += 1;
            None
        }
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, _: u32) {
        self.adjust(now);
        self.stock = (self.stock + RETRY).min(self.level);
    }

    #[inline]
    fn overloaded(&mut self, now: Nanos) {
        self.adjust(now);
        self.cut_until = self.cut_until.max(now + self.hold);
        self.set(self.min);
        self.stock = 0;
        self.cuts += 1;
    }

    fn listens(&self) -> bool {
        true
    }

    #[inline]
    fn passes_on(&self, now: Nanos) -> bool {
        now < self.cut_until || self.failing * self.decay(self.over(now)) > HALF_GONE
    }
}

impl Observe for AdaptiveBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let retries = |x: u64| x as f64 / RETRY as f64;
        see("base", self.base);
        see("failing", self.failing);
        see("ratio", retries(self.ratio));
        see("stock", retries(self.stock));
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
        see("cuts", self.cuts as f64);
    }
}

#[cfg(test)]
mod tests;

//! tower's `TpsBudget`, as tower and Linkerd's ServiceProfiles use it.
//!
//! Source: tower `retry/budget/tps_budget.rs` (8358ee7); linkerd2-proxy with ServiceProfiles. The
//! rule is Finagle's with other arithmetic; reqwest's retry budget is the same type.
//!
//! A retry costs a whole number of deposits, by truncation, so most ratios above 25 % are not the
//! one that was configured (tower issue 857). The ring of slots moves on by one slot when a slot's
//! time is over, and by one more for every *started* slot's time after that; as a busy budget is
//! looked at shortly after the edge, it uses two slots for each slot's time and forgets after
//! little more than half of its `ttl`. Both are kept here as published; `deposit` has neither.
//!
//! One thing differs: the published loop over the slots that went by runs once for each, however
//! many. Ten rounds have the same result.

use rand_core::Rng;

use super::{Attempt, RetryBudget};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

const SLOTS: usize = 10;

/// tower's `TpsBudget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpsBudget {
    deposit: i64,
    withdraw: i64,
    reserve: i64,
    window: u64,
    slots: [i64; SLOTS],
    writer: i64,
    index: usize,
    time: u64,
    deposits: Deposits,
    granted: u64,
    denied: u64,
}

/// Which attempts put something in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deposits {
    /// Those that succeed: the policy of tower's own documentation.
    OnSuccess,
    /// Those that were answered and are not retried, success or not: Linkerd. (A timeout drops
    /// the request, and no policy sees a response.)
    UnlessRetryable,
}

pub(super) const PERCENT: Parameter = Parameter {
    name: "percent",
    unit: Unit::Percent,
    default: TpsBudget::DEFAULT_PERCENT,
    min: 0.0,
    max: 100_000.0,
    doc: "retries as a share of deposits",
};

pub(super) const MIN_PER_SECOND: Parameter = Parameter {
    name: "min_per_second",
    unit: Unit::Count,
    default: TpsBudget::DEFAULT_MIN_PER_SECOND as f64,
    min: 0.0,
    max: 2_147_483_646.0,
    doc: "retries per second that need no deposit; times `ttl`, they can all be used in one instant",
};

pub(super) const TTL: Parameter = Parameter {
    name: "ttl",
    unit: Unit::Duration,
    default: 10.0,
    min: 1.0,
    max: 60.0,
    doc: "how long a deposit or a retry counts",
};

const PARAMETERS: &[Parameter] = &[PERCENT, MIN_PER_SECOND, TTL];

const READINGS: &[Reading] = &[
    Reading::gauge("balance", "retries that could be granted now"),
    Reading::counter("granted", "retries granted"),
    Reading::counter("denied", "retries denied"),
];

const TRAPS: &[&str] = &[
    "The cost of a retry is truncated to whole deposits: 30 % acts as 33 %, 40 % as 50 %, everything from 51 % to 100 % as 100 % (tower 857).",
    "Under steady traffic it forgets after little more than half of `ttl`, because the ring moves two slots for each slot's time; the reserve then comes back nearly twice as fast.",
    "The reserve is not a rate: min_per_second × ttl retries may go in one instant.",
    "Check and subtraction are separate in the original: concurrent callers overdraw it.",
    "With a minimum of 0 and no deposit yet, the first retry is denied.",
];

pub(super) const TOWER: Entry = Entry {
    name: "tower",
    kind: Kind::Budget,
    summary: "tower's TpsBudget (also reqwest's): a share of successes over ten seconds plus a minimum, with truncated costs (tower#857)",
    source: "tower retry/budget/tps_budget.rs; issues 857, 863",
    rule: "\
p = percent / 100
p = 0:      deposit 0,    withdraw 1
p <= 1:     deposit 1,    withdraw trunc(1 / p)
p > 1:      deposit 1000, withdraw trunc(1000 / p)
reserve   = min_per_second × whole seconds of ttl × withdraw
success:    writer += deposit
allowed   = writer + sum of 10 slots + reserve >= withdraw; then writer -= withdraw
before each, if ttl/10 is over since `time`:
  slot[i] = writer; writer = 0; i += 1; one more slot = 0, i += 1 for each further ttl/10 begun; time = now",
    when: "What Rust programs with tower or reqwest do. To simulate them: `deposit` is the same \
           idea with exact arithmetic.",
    traps: TRAPS,
    parameters: PARAMETERS,
    readings: READINGS,
    build: Build::Budget(|p| build(p, Deposits::OnSuccess).map(Into::into)),
};

pub(super) const LINKERD: Entry = Entry {
    name: "linkerd",
    kind: Kind::Budget,
    summary: "Linkerd's ServiceProfile retry budget: tower's, fed by every response that is not retryable",
    source: "linkerd2-proxy ServiceProfile retryBudget; linkerd issue 737 (a budget per path)",
    rule: "\
as `tower`, but every response that the policy does not retry puts in a deposit, success or not;
a response that it retries does not, nor does a timeout, which is none",
    when: "What Linkerd does for routes of a ServiceProfile that are marked isRetryable. Its newer \
           annotations (2.16) have no budget at all: that is `none`.",
    traps: &[
        "In a total outage nothing is put in: it lives on its minimum of 10 per second, which a busy route gets nearly twice.",
        TRAPS[0],
        TRAPS[1],
        TRAPS[2],
        "It resends at once: there is no backoff beside it.",
        "A transport error is never retried by it, and puts in a deposit; here it is a failure like any other.",
    ],
    parameters: PARAMETERS,
    readings: READINGS,
    build: Build::Budget(|p| build(p, Deposits::UnlessRetryable).map(Into::into)),
};

fn build(p: &[f64], deposits: Deposits) -> Option<TpsBudget> {
    match *p {
        [percent, min, ttl] => TpsBudget::try_new(percent, whole(min)?, seconds(ttl)?, deposits),
        _ => None,
    }
}

impl TpsBudget {
    /// tower's default `retry_percent`.
    pub const DEFAULT_PERCENT: f64 = 20.0;
    /// tower's default `min_per_sec`.
    pub const DEFAULT_MIN_PER_SECOND: u32 = 10;
    /// tower's default `ttl`.
    pub const DEFAULT_TTL: Nanos = Nanos::from_secs(10);

    /// A budget with nothing in it but its reserve. `None` unless `percent` is in 0..=100,000,
    /// `ttl` in 1..=60 s and `min_per_second` below 2^31 - 1, as tower asserts.
    #[must_use]
    pub fn try_new(
        percent: f64,
        min_per_second: u32,
        ttl: Nanos,
        deposits: Deposits,
    ) -> Option<Self> {
        let valid = (0.0..=100_000.0).contains(&percent)
            && min_per_second < i32::MAX as u32
            && (Nanos::from_secs(1)..=Nanos::from_secs(60)).contains(&ttl);
        // tower takes the ratio in single precision.
        let ratio = (percent / 100.0) as f32;
        let (deposit, withdraw) = if ratio == 0.0 {
            (0, 1)
        } else if ratio <= 1.0 {
            (1, (1.0 / ratio) as i64)
        } else {
            (1000, (1000.0 / ratio) as i64)
        };
        let seconds = (ttl.0 / 1_000_000_000) as i64;
        valid.then(|| Self {
            deposit,
            withdraw,
            reserve: i64::from(min_per_second).saturating_mul(seconds).saturating_mul(withdraw),
            window: ttl.0 / SLOTS as u64,
            slots: [0; SLOTS],
            writer: 0,
            index: 0,
            time: 0,
            deposits,
            granted: 0,
            denied: 0,
        })
    }

    /// Retries that could be granted now.
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.sum() / self.withdraw
    }

    #[inline]
    fn sum(&self) -> i64 {
        let slots = self.slots.iter().fold(0i64, |sum, s| sum.saturating_add(*s));
        self.writer.saturating_add(slots).saturating_add(self.reserve)
    }

    #[inline]
    fn expire(&mut self, now: Nanos) {
        let gone = now.0.saturating_sub(self.time);
        if gone >= self.window {
            self.turn(now, gone);
        }
    }

    #[cold]
    fn turn(&mut self, now: Nanos, gone: u64) {
        self.slots[self.index] = core::mem::take(&mut self.writer);
        // As often as what is left exceeds a window, with a window taken off each time.
        let cleared = gone.div_ceil(self.window) - 1;
        for i in 1..=cleared.min(SLOTS as u64) as usize {
            self.slots[(self.index + i) % SLOTS] = 0;
        }
        self.index = (self.index + 1 + (cleared % SLOTS as u64) as usize) % SLOTS;
        self.time = now.0;
    }
}

impl RetryBudget for TpsBudget {
    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        outcome: Outcome,
        retryable: bool,
        _: &mut R,
    ) {
        let success = outcome == Outcome::Success;
        let deposits = match self.deposits {
            Deposits::OnSuccess => success,
            Deposits::UnlessRetryable => success || !(retryable || outcome == Outcome::TimedOut),
        };
        if deposits {
            self.expire(now);
            self.writer = self.writer.saturating_add(self.deposit);
        }
    }

    #[inline]
    fn withdraw<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Attempt,
        _: Outcome,
        _: &mut R,
    ) -> Option<u32> {
        self.expire(now);
        if self.sum() >= self.withdraw {
            self.writer = self.writer.saturating_sub(self.withdraw);
            self.granted += 1;
            Some(1)
        } else {
            self.denied += 1;
            None
        }
    }
}

impl Observe for TpsBudget {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("balance", self.balance() as f64);
        see("granted", self.granted as f64);
        see("denied", self.denied as f64);
    }
}

#[cfg(test)]
mod tests;

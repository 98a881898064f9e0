//! Schedules that no single product owns: the forms of the 2015 article and their kin.

use super::{Backoff, Growth, Jitter};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};

/// No delay that can be configured is longer.
const LONGEST_S: f64 = 1e9;
/// No delay that can be configured is shorter, except none at all.
const SHORTEST_S: f64 = 1e-9;

pub(super) const fn base(default: f64, doc: &'static str) -> Parameter {
    duration("base", default, doc)
}

/// A duration that cannot be zero.
pub(super) const fn duration(name: &'static str, default: f64, doc: &'static str) -> Parameter {
    let (min, max) = (SHORTEST_S, LONGEST_S);
    Parameter { name, unit: Unit::Duration, default, min, max, doc }
}

/// A cap; 0 says that there is none.
pub(super) const fn max(default: f64, doc: &'static str) -> Parameter {
    Parameter { name: "max", unit: Unit::Duration, default, min: 0.0, max: LONGEST_S, doc }
}

pub(super) const fn factor(default: f64, min: f64) -> Parameter {
    let doc = "growth from one retry to the next";
    Parameter { name: "factor", unit: Unit::Number, default, min, max: 1000.0, doc }
}

/// A duration of a parameter made by [`duration`].
pub(super) fn positive(x: f64) -> Option<Nanos> {
    (SHORTEST_S..=LONGEST_S).contains(&x).then(|| seconds(x))?
}

/// A cap of a parameter made by [`max`].
pub(super) fn cap(x: f64) -> Option<Nanos> {
    match x {
        0.0 => Some(Nanos::MAX),
        x => (0.0..=LONGEST_S).contains(&x).then(|| seconds(x))?,
    }
}

/// A factor of a parameter made by [`factor`].
pub(super) fn growth(x: f64, min: f64) -> Option<f64> {
    (min..=1000.0).contains(&x).then_some(x)
}

pub(super) const NO_BOUND: &str = "no delay before jitter is longer; 0: no bound";

const SYNCHRONOUS: &str =
    "Callers that failed together retry together, unless `jitter` spreads them.";
const ARTICLE: &str = "Exponential Backoff And Jitter, AWS Architecture Blog, 2015";

pub(in crate::backoff) const IMMEDIATE: Entry = Entry {
    name: "immediate",
    kind: Kind::Backoff,
    summary: "retries at once",
    source: "what a loop without a sleep does",
    rule: "delay = 0",
    when: "When a small part of the callee is overloaded and a retry most likely meets another \
           part: then the SRE book retries at once. When most of it is, do not retry at all; this \
           only adds load, at the worst time.",
    traps: &["A limit alone then decides how fast load multiplies: put a budget beside it."],
    parameters: &[],
    readings: &[],
    build: Build::Backoff(|p| p.is_empty().then_some(Backoff::NONE)),
};

pub(in crate::backoff) const CONSTANT: Entry = Entry {
    name: "constant",
    kind: Kind::Backoff,
    summary: "the same delay before every retry",
    source: "the default of resilience4j (500 ms) and of Polly v8 (2 s)",
    rule: "delay = min(max, base), spread by jitter",
    when: "Where the callee recovers in a known time. It cannot adapt to a longer outage.",
    traps: &[SYNCHRONOUS],
    parameters: &[base(0.1, "delay before every retry"), max(0.0, NO_BOUND)],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max] => {
            let cap = cap(max)?;
            Some(Backoff { cap, ..Backoff::constant(positive(base)?, Jitter::None) })
        }
        _ => None,
    }),
};

pub(in crate::backoff) const LINEAR: Entry = Entry {
    name: "linear",
    kind: Kind::Backoff,
    summary: "the delay grows by the same amount with every retry",
    source: "common to many libraries; Polly v8 as DelayBackoffType.Linear",
    rule: "delay = min(max, base n), n = 1 for the first retry, spread by jitter",
    when: "Few retries over a short time, where doubling would wait too long.",
    traps: &[SYNCHRONOUS],
    parameters: &[base(0.1, "delay before the first retry"), max(0.0, NO_BOUND)],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max] => Some(Backoff::linear(positive(base)?, cap(max)?, Jitter::None)),
        _ => None,
    }),
};

pub(in crate::backoff) const EXPONENTIAL: Entry = Entry {
    name: "exponential",
    kind: Kind::Backoff,
    summary: "the delay is multiplied with every retry, up to a bound",
    source: ARTICLE,
    rule: "delay = min(max, base factor^(n-1)), n = 1 for the first retry, spread by jitter",
    when: "Nearly always, with full jitter. It spreads retries over time; it does not bound how \
           many there are, so a lasting overload still gets all of them: put a budget beside it.",
    traps: &[
        "Without jitter the callers stay in step: with 100 of them the article's contention \
         experiment takes thirty times as long as without any backoff.",
        "Many libraries double from `base`, the article doubles first: its first retry waits 2 base.",
        "Few retries and a short base end before a callee can recover: look at the sum of the delays.",
    ],
    parameters: &[base(0.1, "delay before the first retry"), factor(2.0, 1.0), max(0.0, NO_BOUND)],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, factor, max] => Some(Backoff::exponential(
            positive(base)?,
            growth(factor, 1.0)?,
            cap(max)?,
            Jitter::None,
        )),
        _ => None,
    }),
};

pub(in crate::backoff) const DECORRELATED: Entry = Entry {
    name: "decorrelated",
    kind: Kind::Backoff,
    summary: "each delay is drawn between the base and three times the delay before it",
    source: ARTICLE,
    rule: "\
s = base at the start of a call
before every retry:  s = min(max, U(base, 3 s));  delay = s",
    when: "Where no delay may be near zero. Full jitter needs fewer attempts for the same work.",
    traps: &[
        "It makes more attempts than full jitter: in the article's experiment a quarter more with \
         100 callers, more than a third more with 190.",
        "`s` belongs to one call: kept per client, it only grows.",
    ],
    parameters: &[base(0.005, "the shortest delay"), max(2.0, NO_BOUND)],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max] => Some(Backoff::decorrelated(positive(base)?, cap(max)?)),
        _ => None,
    }),
};

impl Backoff {
    /// The decorrelated jitter of the 2015 article.
    #[must_use]
    pub const fn decorrelated(base: Nanos, cap: Nanos) -> Self {
        Self { growth: Growth::Constant, base, cap, jitter: Jitter::Decorrelated }
    }
}

//! The breakers that a system file may name, with their published numbers.

use super::{Breaker, BreakerRule, Hung, Spread, Trip};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::gate::{Gate, flag, in_range};
use crate::observe::Reading;

const YEAR: f64 = 31_536_000.0;

const fn percent(name: &'static str, default: f64, min: f64, doc: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Percent, default, min, max: 100.0, doc }
}

const fn count(name: &'static str, default: f64, max: f64, doc: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Count, default, min: 1.0, max, doc }
}

const fn span(
    name: &'static str,
    default: f64,
    min: f64,
    max: f64,
    doc: &'static str,
) -> Parameter {
    Parameter { name, unit: Unit::Duration, default, min, max, doc }
}

const fn switch(name: &'static str, default: f64, doc: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Flag, default, min: 0.0, max: 1.0, doc }
}

const FAILURE_RATE: Parameter =
    percent("failure_rate", 50.0, 0.001, "share of failures from which it opens");
const SLOW_RATE: Parameter =
    percent("slow_rate", 100.0, 0.001, "share of slow calls from which it opens");
const SLOW: Parameter = span("slow", 60.0, 1e-9, YEAR, "a call that takes longer is slow");
const MIN_CALLS: Parameter =
    count("min_calls", 100.0, 1_000_000.0, "calls in the window below which it does not judge");
const PROBES: Parameter =
    count("probes", 10.0, 10_000.0, "attempts that a half-open breaker lets through");
const WAIT: Parameter = span("wait", 60.0, 0.001, YEAR, "how long it stays open");
const MAX_HALF_OPEN: Parameter = span(
    "max_half_open",
    0.0,
    0.0,
    YEAR,
    "opens again if the probes have not ended after this; 0: waits for them for ever",
);
const FACTOR: Parameter = Parameter {
    name: "factor",
    unit: Unit::Number,
    default: 1.0,
    min: 1.0,
    max: 100.0,
    doc: "what the wait is multiplied with each time the probes fail; back to `wait` once closed",
};
const MAX_WAIT: Parameter =
    span("max_wait", 0.0, 0.0, YEAR, "longest wait, not below `wait`; 0: no bound");
const JITTER: Parameter =
    percent("jitter", 0.0, 0.0, "how much shorter or longer chance makes the wait, at most");
const REJECTIONS: Parameter = switch(
    "rejections",
    1.0,
    "whether a rejected or shed attempt is a failure; otherwise it is a success",
);
const LATE_COUNTS: Parameter = switch(
    "late",
    1.0,
    "whether an attempt sent in another state counts when it ends, as published; otherwise it is ignored",
);

const BY_CALLS_PARAMETERS: &[Parameter] = &[
    FAILURE_RATE,
    SLOW_RATE,
    SLOW,
    count("window", 100.0, 10_000.0, "calls that it looks back at"),
    MIN_CALLS,
    PROBES,
    WAIT,
    MAX_HALF_OPEN,
    FACTOR,
    MAX_WAIT,
    JITTER,
    REJECTIONS,
    LATE_COUNTS,
];

const BY_TIME_PARAMETERS: &[Parameter] = &[
    FAILURE_RATE,
    SLOW_RATE,
    SLOW,
    count("window", 100.0, 3600.0, "seconds that it looks back at, in slices of one"),
    MIN_CALLS,
    PROBES,
    WAIT,
    MAX_HALF_OPEN,
    FACTOR,
    MAX_WAIT,
    JITTER,
    REJECTIONS,
    LATE_COUNTS,
];

const CONSECUTIVE_PARAMETERS: &[Parameter] = &[
    count("failures", 7.0, 1_000_000.0, "failures in a row after which it opens"),
    span("min_penalty", 1.0, 0.001, YEAR, "first wait"),
    span("max_penalty", 60.0, 0.001, YEAR, "longest wait, not below `min_penalty`"),
    percent("jitter", 50.0, 0.0, "how much longer chance makes the wait, at most"),
    switch(
        "rejections",
        0.0,
        "whether a rejected or shed attempt is a failure; otherwise it is a success, as status 429 is to Linkerd",
    ),
    LATE_COUNTS,
];

const POLLY_PARAMETERS: &[Parameter] = &[
    percent("failure_ratio", 10.0, 0.001, "share of failures from which it opens"),
    Parameter {
        name: "min_throughput",
        unit: Unit::Count,
        default: 100.0,
        min: 2.0,
        max: 1_000_000.0,
        doc: "calls in the sampling time below which it does not judge",
    },
    span("sampling", 30.0, 0.5, 3600.0, "how far back it looks, in ten slices"),
    span("break", 5.0, 0.5, 86_400.0, "how long it stays open"),
    switch("rejections", 1.0, REJECTIONS.doc),
    LATE_COUNTS,
    switch(
        "another_probe",
        0.0,
        "whether another probe follows when `break` has passed without an end; Polly 8 waits for the first for ever",
    ),
];

/// The argument against it, and where it fits; the same for all.
const WHEN: &str = "One breaker for each instance of a callee, with retries to others: it stops \
    waiting for one that is gone. Before a whole service it turns a part that fails into a whole \
    that is refused, first for those whose shard or tenant was well. The argument against it: it \
    gives the caller a second way to behave that hardly anybody exercises before the day it is \
    needed, and it lengthens a recovery by what is left of its wait and by its probes. A retry \
    budget removes the extra load as well, by degrees and without a mode of its own; use that \
    first.";

const TRAPS: &[&str] = &[
    "A breaker before a service opens for everybody when one shard, tenant or route fails.",
    "Little traffic: below the minimum of calls it never opens, and above it a few failures decide.",
    "Breakers that opened together probe together; give the wait jitter where many callers share a callee.",
    "A caller that retries at once what a breaker refused has no breaker; back off, or do not retry.",
    "An attempt sent before it opened counts as a probe if it ends while it is half-open, as published: a slow success of an hour ago closes it, a slow failure opens it. Set `late: false`.",
];

const TRAPS_RESILIENCE4J: &[&str] = &[
    TRAPS[0],
    TRAPS[1],
    TRAPS[2],
    TRAPS[3],
    TRAPS[4],
    "With `max_half_open` at 0, as published, one probe that never ends blocks it for ever.",
    "It half-opens when the next attempt comes, not by a timer: a callee that nobody calls stays shut.",
];

const TRAPS_LINKERD: &[&str] = &[
    TRAPS[0],
    TRAPS[2],
    TRAPS[3],
    TRAPS[4],
    "One success in between resets the count: 86 % of failures, evenly spread, never trip it.",
    "A probe that never ends blocks it for ever. In Linkerd so does one whose caller leaves, since its permit is forgotten; here it gives its place back.",
    "Linkerd's newer rule for rates (2026) fails a probe that is rejected; here set `rejections`, which counts them in a row as well.",
];

const TRAPS_POLLY: &[&str] = &[
    TRAPS[0],
    TRAPS[1],
    TRAPS[2],
    TRAPS[3],
    TRAPS[4],
    "In Polly a probe that its caller cancels closes it: a cancellation is no failure. Here it gives its place back.",
    "The first failure after the wait opens it for the full time again.",
    "A probe that never ends blocks it for ever: half-open, Polly 8 notes when the next may follow and never looks. Polly 7 sent another after `break`; set `another_probe: true`.",
    "Slices lie at fixed multiples here; in Polly one starts with the call that follows the last.",
];

const STATE: Reading = Reading::gauge("state", "0 closed, 1 open, 2 half-open");
const OPENED: Reading = Reading::counter("opened", "times it went from closed to open");
const HALF_OPENED: Reading =
    Reading::counter("half_opened", "times it went from open to half-open");
const REOPENED: Reading = Reading::counter("reopened", "times it went from half-open to open");
const CLOSED: Reading = Reading::counter("closed", "times it went from half-open to closed");
const SUCCEEDED: Reading = Reading::counter("succeeded", "attempts that succeeded");
const FAILED: Reading = Reading::counter("failed", "attempts that failed");
const SLOWS: Reading = Reading::counter("slow", "attempts that were slow");
const PROBED: Reading = Reading::counter("probes", "probes let through");
const LATE: Reading =
    Reading::counter("late", "attempts that ended in another state than they were sent in");
const REFUSED: Reading = Reading::counter("refused", "attempts refused (not_permitted)");

const RATES: &[Reading] = &[
    STATE,
    Reading::gauge("calls", "calls in the window"),
    Reading::gauge("failure_rate", "share of failures in percent; -1 below the minimum of calls"),
    Reading::gauge("slow_rate", "share of slow calls in percent; -1 below the minimum of calls"),
    OPENED,
    HALF_OPENED,
    REOPENED,
    CLOSED,
    SUCCEEDED,
    FAILED,
    SLOWS,
    PROBED,
    LATE,
    REFUSED,
];

const IN_A_ROW: &[Reading] = &[
    STATE,
    Reading::gauge("in_a_row", "failures in a row"),
    OPENED,
    HALF_OPENED,
    REOPENED,
    CLOSED,
    SUCCEEDED,
    FAILED,
    SLOWS,
    PROBED,
    LATE,
    REFUSED,
];

pub(crate) const BY_CALLS: Entry = Entry {
    name: "breaker",
    kind: Kind::Breaker,
    summary: "circuit breaker over the last calls, with resilience4j's numbers",
    source: "resilience4j CircuitBreaker (COUNT_BASED)",
    rule: "\
closed:    over the last `window` calls, once min(min_calls, window) are there:
           open if failures >= failure_rate or slow calls >= slow_rate
open:      refuses until `wait` × factor^(openings since closed - 1) has passed, then half-open
half-open: lets `probes` through; when min(min_calls, probes) of them have ended:
           open if a rate is reached, else closed with an empty window
failure:   failed, failed below, timed out; rejected and shed if `rejections`
slow:      took longer than `slow`
late:      an attempt sent in another state counts where it ends if `late`, else not at all",
    when: WHEN,
    traps: TRAPS_RESILIENCE4J,
    parameters: BY_CALLS_PARAMETERS,
    readings: RATES,
    build: Build::Gate(|p| resilience4j(BY_CALLS_PARAMETERS, p, Trip::Calls)),
};

pub(crate) const BY_TIME: Entry = Entry {
    name: "breaker-time",
    summary: "circuit breaker over the last seconds, with resilience4j's numbers",
    source: "resilience4j CircuitBreaker (TIME_BASED)",
    rule: "\
closed:    over the last `window` seconds, once min_calls are there:
           open if failures >= failure_rate or slow calls >= slow_rate
open:      refuses until `wait` × factor^(openings since closed - 1) has passed, then half-open
half-open: lets `probes` through; when min(min_calls, probes) of them have ended:
           open if a rate is reached, else closed with an empty window
failure:   failed, failed below, timed out; rejected and shed if `rejections`
slow:      took longer than `slow`
late:      an attempt sent in another state counts where it ends if `late`, else not at all",
    parameters: BY_TIME_PARAMETERS,
    build: Build::Gate(|p| {
        resilience4j(BY_TIME_PARAMETERS, p, |n| {
            Trip::Time(Nanos::from_secs(n.into()), u16::try_from(n).unwrap_or(u16::MAX))
        })
    }),
    ..BY_CALLS
};

pub(crate) const CONSECUTIVE: Entry = Entry {
    name: "breaker-consecutive",
    kind: Kind::Breaker,
    summary: "circuit breaker by failures in a row, with Linkerd's numbers",
    source: "Linkerd failure accrual (balancer.linkerd.io/failure-accrual: consecutive), linkerd2-proxy exp-backoff",
    rule: "\
closed:    open after `failures` failures in a row; a success sets the count to 0
open:      refuses for min(max_penalty, base + U(0, jitter) × base), where
           base = min(max_penalty, min_penalty × 2^(openings since closed - 1)); then half-open
half-open: lets exactly one through: success closes, failure opens with the next longer wait
failure:   failed, failed below, timed out; rejected and shed if `rejections`
late:      an attempt sent in another state counts where it ends if `late`, else not at all",
    when: WHEN,
    traps: TRAPS_LINKERD,
    parameters: CONSECUTIVE_PARAMETERS,
    readings: IN_A_ROW,
    build: Build::Gate(|p| match *p {
        [failures, min, max, jitter, rejections, late] if in_range(CONSECUTIVE_PARAMETERS, p) => {
            let rule = BreakerRule {
                trip: Trip::InARow(whole(failures)?),
                failure_rate: 100.0,
                slow_rate: 100.0,
                slow: Nanos::MAX,
                min_calls: 1,
                judges_successes: false,
                probes: 1,
                hung: Hung::Blocks,
                wait: seconds(min)?,
                factor: 2.0,
                max_wait: seconds(max)?,
                jitter,
                spread: Spread::Above,
                rejections: flag(rejections)?,
                late: flag(late)?,
            };
            Breaker::try_new(rule).map(Into::into)
        }
        _ => None,
    }),
};

pub(crate) const POLLY: Entry = Entry {
    name: "polly-breaker",
    kind: Kind::Breaker,
    summary: "Polly's circuit breaker: opens at 10 % of failures, probes one at a time",
    source: "Polly v8 CircuitStateController, RollingHealthMetrics",
    rule: "\
closed:    when a failure ends, over the last `sampling` in ten slices:
           open if calls >= min_throughput and failures / calls >= failure_ratio
open:      refuses for `break`, then half-open
half-open: lets one through: success closes with an empty window, failure opens;
           with `another_probe` another follows whenever `break` has passed without an end
failure:   failed, failed below, timed out; rejected and shed if `rejections`
late:      an attempt sent in another state counts where it ends if `late`, else not at all",
    when: WHEN,
    traps: TRAPS_POLLY,
    parameters: POLLY_PARAMETERS,
    readings: RATES,
    build: Build::Gate(|p| match *p {
        [ratio, min, sampling, pause, rejections, late, another]
            if in_range(POLLY_PARAMETERS, p) =>
        {
            let rule = BreakerRule {
                trip: Trip::Time(seconds(sampling)?, 10),
                failure_rate: ratio,
                slow_rate: 100.0,
                slow: Nanos::MAX,
                min_calls: whole(min)?,
                judges_successes: false,
                probes: 1,
                hung: if flag(another)? { Hung::Another } else { Hung::Blocks },
                wait: seconds(pause)?,
                factor: 1.0,
                max_wait: Nanos::ZERO,
                jitter: 0.0,
                spread: Spread::Around,
                rejections: flag(rejections)?,
                late: flag(late)?,
            };
            Breaker::try_new(rule).map(Into::into)
        }
        _ => None,
    }),
};

fn resilience4j(
    parameters: &[Parameter],
    p: &[f64],
    trip: impl FnOnce(u32) -> Trip,
) -> Option<Gate> {
    let [
        failures,
        slows,
        slow,
        window,
        min,
        probes,
        wait,
        half_open,
        factor,
        most,
        jitter,
        rejections,
        late,
    ] = *p
    else {
        return None;
    };
    if !in_range(parameters, p) {
        return None;
    }
    let rule = BreakerRule {
        trip: trip(whole(window)?),
        failure_rate: failures,
        slow_rate: slows,
        slow: seconds(slow)?,
        min_calls: whole(min)?,
        judges_successes: true,
        probes: whole(probes)?,
        hung: match seconds(half_open)? {
            Nanos::ZERO => Hung::Blocks,
            after => Hung::Reopens(after),
        },
        wait: seconds(wait)?,
        factor,
        max_wait: seconds(most)?,
        jitter,
        spread: Spread::Around,
        rejections: flag(rejections)?,
        late: flag(late)?,
    };
    Breaker::try_new(rule).map(Into::into)
}

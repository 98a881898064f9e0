//! The schedules of particular products, with their defaults and their faults.

use super::plain::{NO_BOUND, base, cap, duration, factor, growth, max, positive};
use super::{Backoff, Growth, Jitter};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};

/// gRPC allows any positive multiplier; three decimals are kept.
const LEAST_FACTOR: f64 = 0.001;

const fn spread(default: f64, max: f64, doc: &'static str) -> Parameter {
    Parameter { name: "spread", unit: Unit::Percent, default, min: 0.0, max, doc }
}

fn percent(x: f64, max: u16) -> Option<u16> {
    u16::try_from(whole(x)?).ok().filter(|p| *p <= max)
}

impl Backoff {
    /// gRPC since August 2024: exponential, within 20 % of it after the cap.
    #[must_use]
    pub const fn grpc(base: Nanos, factor: f64, cap: Nanos) -> Self {
        Self::exponential(base, factor, cap, Jitter::Around(20))
    }

    /// gRPC before August 2024: exponential with full jitter.
    #[must_use]
    pub const fn grpc_legacy(base: Nanos, factor: f64, cap: Nanos) -> Self {
        Self::exponential(base, factor, cap, Jitter::Full)
    }

    /// The standard mode of the AWS SDKs: doubling with full jitter.
    #[must_use]
    pub const fn aws(base: Nanos, cap: Nanos) -> Self {
        Self::exponential(base, 2.0, cap, Jitter::Full)
    }

    /// The standard mode of the AWS SDKs since 2026: a base of its own after throttling.
    #[must_use]
    pub const fn aws_2026(base: Nanos, throttling: Nanos, cap: Nanos) -> Self {
        let growth = Growth::ByCause { factor: 2.0, refused: throttling };
        Self { growth, base, cap, jitter: Jitter::Full }
    }

    /// Envoy's router, as its code has it.
    #[must_use]
    pub const fn envoy(base: Nanos, cap: Nanos) -> Self {
        Self { growth: Growth::MillisDoubling, base, cap, jitter: Jitter::WholeMillis }
    }

    /// Linkerd's proxy: doubling, with up to `percent` on top but never above the cap.
    #[must_use]
    pub const fn linkerd(base: Nanos, cap: Nanos, percent: u16) -> Self {
        Self::exponential(base, 2.0, cap, Jitter::Above(percent))
    }

    /// resilience4j's `ofExponentialRandomBackoff`.
    #[must_use]
    pub const fn resilience4j(base: Nanos, factor: f64, cap: Nanos, percent: u16) -> Self {
        let growth = Growth::MillisExponential(factor);
        Self { growth, base, cap, jitter: Jitter::AroundMillis(percent) }
    }

    /// Polly v8's exponential backoff with `UseJitter`.
    #[must_use]
    pub const fn polly(base: Nanos, cap: Nanos) -> Self {
        Self::exponential(base, 2.0, cap, Jitter::DecorrelatedV2)
    }
}

pub(in crate::backoff) const GRPC: Entry = Entry {
    name: "grpc-backoff",
    kind: Kind::Backoff,
    summary: "gRPC's exponential backoff, within 20 % of the nominal delay",
    source: "gRFC A6 with proposal pull request 452 (August 2024); defaults of the xDS mapping, A44",
    rule: "delay = min(max, base factor^(n-1)) U(0.8, 1.2), n = 1 for the first retry since a push-back",
    when: "To see what a gRPC client does. Its jitter is narrow: callers that failed together come \
           back within 40 % of the delay of each other.",
    traps: &[
        "The jitter comes after the cap: a delay can be 20 % above `max` and 20 % below `base`.",
        "A6 has no defaults; these are what gRPC makes of an xDS retry policy that names none.",
        "Older clients draw from zero: see `grpc-legacy-backoff`.",
    ],
    parameters: &[
        base(0.025, "initialBackoff"),
        factor(2.0, LEAST_FACTOR),
        duration("max", 0.25, "maxBackoff"),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, factor, max] => {
            let factor = growth(factor, LEAST_FACTOR)?;
            Some(Backoff::grpc(positive(base)?, factor, positive(max)?))
        }
        _ => None,
    }),
};

pub(in crate::backoff) const GRPC_LEGACY: Entry = Entry {
    name: "grpc-legacy-backoff",
    kind: Kind::Backoff,
    summary: "gRPC's exponential backoff as it was before August 2024: full jitter",
    source: "gRFC A6 before proposal pull request 452; defaults of the xDS mapping, A44",
    rule: "delay = U(0, min(max, base factor^(n-1)))",
    when: "gRPC clients released before the change, and grpc-java with its flag for the new jitter off.",
    traps: &["A delay can be nearly zero, so the first retries of a burst arrive at once."],
    parameters: &[
        base(0.025, "initialBackoff"),
        factor(2.0, LEAST_FACTOR),
        duration("max", 0.25, "maxBackoff"),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, factor, max] => {
            let factor = growth(factor, LEAST_FACTOR)?;
            Some(Backoff::grpc_legacy(positive(base)?, factor, positive(max)?))
        }
        _ => None,
    }),
};

pub(in crate::backoff) const AWS: Entry = Entry {
    name: "aws-backoff",
    kind: Kind::Backoff,
    summary: "the AWS SDKs' standard mode: doubling from one second with full jitter",
    source: "botocore retries/standard.py; smithy-rs",
    rule: "delay = U(0, 1) min(max, base 2^(n-1))",
    when: "To see what an AWS SDK does. Half of the first retries come within half a second.",
    traps: &[
        "`max: 0` is the legacy mode, which has no bound and no quota either.",
        "The bound is taken before the random factor, so few delays come near it.",
    ],
    parameters: &[base(1.0, "delay before the first retry, at most"), max(20.0, NO_BOUND)],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max] => Some(Backoff::aws(positive(base)?, cap(max)?)),
        _ => None,
    }),
};

pub(in crate::backoff) const AWS_2026: Entry = Entry {
    name: "aws-2026-backoff",
    kind: Kind::Backoff,
    summary: "the AWS SDKs' standard mode 2.1: twenty times the delay after throttling",
    source: "botocore 1.43.3 (29 May 2026), retries v2.1; smithy-rs RetrySpec v2.1",
    rule: "\
scale = throttling_base if the attempt was rejected or shed, base otherwise
delay = U(0, 1) min(max, scale 2^(n-1))",
    when: "To see what an AWS SDK does since 2026. Transient failures are tried again within \
           milliseconds, throttled calls within seconds.",
    traps: &[
        "DynamoDB and its streams have a base of 25 ms and one attempt more.",
        "The number of the retry counts both kinds: a throttled second retry waits up to 2 s.",
        "The SDK knows throttling by the error code alone; a bare 429 is none.",
    ],
    parameters: &[
        base(0.05, "scale after a failure that was not throttling"),
        duration("throttling_base", 1.0, "scale after throttling: a rejected or shed attempt"),
        max(20.0, NO_BOUND),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, throttling, max] => {
            Some(Backoff::aws_2026(positive(base)?, positive(throttling)?, cap(max)?))
        }
        _ => None,
    }),
};

pub(in crate::backoff) const ENVOY: Entry = Entry {
    name: "envoy-backoff",
    kind: Kind::Backoff,
    summary: "Envoy's router: a whole number of milliseconds below an interval that doubles",
    source: "Envoy backoff_strategy.cc (JitteredExponentialBackOffStrategy)",
    rule: "\
next = base at the start of a request, in whole ms
before every retry:  delay = uniform integer in [0, next - 1] ms
                     next = 2 next if next < max / 2 (whole division), max otherwise",
    when: "To see what Envoy or a mesh built on it does: 0-24, 0-49, 0-99, 0-199, 0-249 ms.",
    traps: &[
        "Envoy's documentation describes (2^n - 1) base; the code draws from base 2^(n-1).",
        "A base of 1 ms never waits: the only whole number below 1 is 0.",
    ],
    parameters: &[
        Parameter { min: 0.001, ..base(0.025, "base_interval") },
        max(0.0, "max_interval, not below `base`; 0: ten times the base"),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max] if base >= 0.001 => {
            let base = positive(base)?;
            let cap = if max == 0.0 { Nanos(base.0.saturating_mul(10)) } else { cap(max)? };
            (base <= cap).then_some(Backoff::envoy(base, cap))
        }
        _ => None,
    }),
};

pub(in crate::backoff) const LINKERD: Entry = Entry {
    name: "linkerd-backoff",
    kind: Kind::Backoff,
    summary: "Linkerd's proxy: doubling, jitter on top, and none left at the bound",
    source: "linkerd2-proxy exp-backoff; the policy controller sets 25 ms, 250 ms and 100 %",
    rule: "\
b = min(max, base 2^(n-1))
delay = b + min(U(0, spread) b, max - b)",
    when: "To see what Linkerd does for the retries of an annotated route: 25-50, 50-100, 100-200, \
           200-250 and then exactly 250 ms.",
    traps: &[
        "From the fifth retry on the delay is `max` to the nanosecond: no jitter at all.",
        "No delay is shorter than `base`, and annotated routes have no retry budget.",
    ],
    parameters: &[
        base(0.025, "the shortest delay"),
        duration("max", 0.25, "no delay is longer, jitter included; not below `base`"),
        spread(100.0, 10_000.0, "jitter on top of the delay, in percent of it"),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max, spread] => {
            let (base, max) = (positive(base)?, positive(max)?);
            let percent = percent(spread, 10_000)?;
            (base <= max).then_some(Backoff::linkerd(base, max, percent))
        }
        _ => None,
    }),
};

pub(in crate::backoff) const RESILIENCE4J: Entry = Entry {
    name: "resilience4j-backoff",
    kind: Kind::Backoff,
    summary: "resilience4j's exponential random backoff: half to one and a half times",
    source: "resilience4j IntervalFunction.ofExponentialRandomBackoff",
    rule: "\
interval = base in whole ms; for every further retry interval = trunc(interval factor)
delay = min(max, max(1 ms, trunc(U(interval (1 - spread), interval (1 + spread) + 1 ms))))",
    when: "To see what resilience4j does where it was asked for jitter; without, it waits a \
           constant 500 ms.",
    traps: &[
        "The bound comes after the jitter: once interval (1 - spread) exceeds `max`, every caller \
         waits exactly `max`.",
        "A factor below 1 + 1 / interval in ms never grows: each step is cut to whole milliseconds.",
    ],
    parameters: &[
        Parameter { min: 0.001, ..base(0.5, "initialInterval") },
        factor(1.5, 1.0),
        max(0.0, "maxInterval, jitter included; 0: no bound"),
        spread(50.0, 100.0, "randomizationFactor, in percent"),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, factor, max, spread] if base >= 0.001 => {
            let (factor, percent) = (growth(factor, 1.0)?, percent(spread, 100)?);
            Some(Backoff::resilience4j(positive(base)?, factor, cap(max)?, percent))
        }
        _ => None,
    }),
};

pub(in crate::backoff) const POLLY: Entry = Entry {
    name: "polly-backoff",
    kind: Kind::Backoff,
    summary: "Polly v8's exponential backoff with jitter: steps along a smooth curve that doubles",
    source: "Polly v8 RetryHelper.DecorrelatedJitterBackoffV2",
    rule: "\
prev = 0 at the start of an execution
before retry n:  t = n - 1 + U(0, 1);  f = 2^t tanh(sqrt(4 t))
                 delay = min(max, (f - prev) base / 1.4);  prev = f",
    when: "To see what Polly does with exponential backoff and UseJitter. Over many callers the \
           retries come evenly, without the peaks that doubling leaves.",
    traps: &[
        "Off by default: Polly waits a constant 2 s without jitter, three times.",
        "`base` is a median, not a minimum: the first delay can be nearly zero.",
        "`prev` goes on from the curve, not from the delay that `max` has cut.",
    ],
    parameters: &[
        base(2.0, "Delay, about the median of the first"),
        max(0.0, "MaxDelay; 0: no bound"),
    ],
    readings: &[],
    build: Build::Backoff(|p| match *p {
        [base, max] => Some(Backoff::polly(positive(base)?, cap(max)?)),
        _ => None,
    }),
};

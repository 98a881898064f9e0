//! The client rate limiter of the AWS SDKs' adaptive mode.
//!
//! Source: botocore `retries/adaptive.py`, `bucket.py`, `throttling.py`; smithy-rs
//! `client_rate_limiter.rs`. Cubic growth as in TCP CUBIC, towards and beyond the rate at which
//! the service last throttled, held below twice the rate that is measured.
//!
//! A caller waits rather than being refused. botocore blocks each caller until a token is there
//! and then takes it; here a token is reserved at once, the bucket goes below zero, and the wait
//! is for the token reserved, so that callers who wait together go out one after another at the
//! rate. What differs: a wait that has been given does not change when the rate does. Whoever
//! gives up while waiting ([`Admit::cancel`]) hands its token back.
//!
//! Throttling answers are those rejected and shed. Everything else, timeouts included, lets the
//! rate grow, as published.

use rand_core::Rng;

use super::{Admit, Pass, in_range};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome, Reason, Refusal};

/// What a throttled rate is multiplied with.
const BETA: f64 = 0.7;
/// How fast the cubic grows.
const SCALE: f64 = 0.4;
/// Weight of the newest measurement.
const SMOOTHING: f64 = 0.8;
const HALF_SECOND: u64 = 500_000_000;

/// The rate limiter of the AWS SDKs' adaptive mode.
#[derive(Clone, Debug)]
pub struct AwsAdaptive {
    min_fill: f64,
    max_wait: Nanos,
    enabled: bool,
    /// The clock has been seen, and the state below is anchored to it.
    started: bool,
    measured: f64,
    half_seconds: u64,
    answers: u64,
    fill: f64,
    capacity: f64,
    tokens: f64,
    refilled: Nanos,
    w_max: f64,
    k: f64,
    failed: Nanos,
    sent: u64,
    delayed: u64,
    gave_up: u64,
    throttled: u64,
    refused: u64,
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "min_fill",
        unit: Unit::Rate,
        default: AwsAdaptive::DEFAULT_MIN_FILL,
        min: 0.001,
        max: 1e6,
        doc: "lowest rate",
    },
    Parameter {
        name: "max_wait",
        unit: Unit::Duration,
        default: 0.0,
        min: 0.0,
        max: 31_536_000.0,
        doc: "refuses whoever would wait longer; 0: everybody waits, as published",
    },
];

pub(super) const ENTRY: Entry = Entry {
    name: "aws-adaptive",
    kind: Kind::Throttle,
    summary: "the AWS SDKs' adaptive mode: delays attempts to a rate that falls by 30 % when throttled and grows as a cubic",
    source: "botocore retries/adaptive.py, bucket.py, throttling.py; smithy-rs client_rate_limiter.rs; aws-sdk-go-v2 issue 3550",
    rule: "\
every answer:    measured = 0.8 × answers / time + 0.2 × measured, once per half second
rejected, shed:  r = min(measured, fill), or measured the first time
                 w_max = r; K = cbrt(w_max × 0.3 / 0.4); t_fail = now; new = 0.7 × r; enabled
other answers:   new = 0.4 × (now - t_fail - K)^3 + w_max
every answer:    fill = max(min(new, 2 × measured), min_fill); capacity = max(that, 1)
before sending:  if enabled, wait for one token; tokens come at `fill` per second
                 and at most `capacity` are kept",
    when: "One client that talks to one throttled resource, where waiting is better than failing. \
           It shapes all attempts and not only retries, so it also slows what would have worked. \
           Do not share it between resources: throttling of one slows all.",
    traps: &[
        "Once switched on by the first throttling answer it never switches off.",
        "Timeouts and failures let the rate grow: a callee that is too slow to throttle is pushed harder.",
        "It waits without bound unless `max_wait` is set; a thousand callers at half an attempt per second wait over half an hour.",
        "Its bucket fills while it is switched off, too: a client that has worked for some seconds sends a second's worth at once after the first throttling, and one that is throttled right away waits with its first attempt.",
        "The retry quota of the Go SDK's adaptive mode never refills (aws-sdk-go-v2 3550); tokens here come back with time.",
    ],
    parameters: PARAMETERS,
    readings: &[
        Reading::gauge("enabled", "1 once the callee has throttled"),
        Reading::gauge("fill", "attempts per second that it lets out"),
        Reading::gauge("measured", "answers per second, smoothed"),
        Reading::gauge("tokens", "tokens left; below zero: reserved by callers that wait"),
        Reading::counter("sent", "attempts let through, at once or later"),
        Reading::counter("delayed", "attempts that had to wait"),
        Reading::counter("gave_up", "attempts let through that gave up before their turn"),
        Reading::counter("throttled", "answers that throttled"),
        Reading::counter("refused", "attempts that would have waited longer than max_wait"),
    ],
    build: Build::Gate(|p| match *p {
        [fill, wait] if in_range(PARAMETERS, p) => {
            AwsAdaptive::try_new(fill, seconds(wait)?).map(Into::into)
        }
        _ => None,
    }),
};

impl AwsAdaptive {
    /// The lowest rate that the SDKs go down to, per second.
    pub const DEFAULT_MIN_FILL: f64 = 0.5;

    /// Switched off until the callee throttles. `max_wait` zero: no bound. `None` unless
    /// 0.001 ≤ min_fill ≤ 10⁶ and max_wait is at most a year.
    #[must_use]
    pub fn try_new(min_fill: f64, max_wait: Nanos) -> Option<Self> {
        let valid = (0.001..=1e6).contains(&min_fill) && max_wait <= Nanos::from_secs(31_536_000);
        valid.then_some(Self {
            min_fill,
            max_wait,
            enabled: false,
            started: false,
            measured: 0.0,
            half_seconds: 0,
            answers: 0,
            fill: 0.0,
            capacity: 0.0,
            tokens: 0.0,
            refilled: Nanos::ZERO,
            w_max: 0.0,
            k: 0.0,
            failed: Nanos::ZERO,
            sent: 0,
            delayed: 0,
            gave_up: 0,
            throttled: 0,
            refused: 0,
        })
    }

    /// Attempts per second that it lets out, once it is switched on.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.fill
    }

    /// Answers per second, smoothed.
    #[must_use]
    pub fn measured(&self) -> f64 {
        self.measured
    }

    fn start(&mut self, now: Nanos) {
        if !self.started {
            self.started = true;
            self.half_seconds = now.0 / HALF_SECOND;
            self.refilled = now;
            self.failed = now;
        }
    }

    fn measure(&mut self, now: Nanos) {
        let half = now.0 / HALF_SECOND;
        self.answers += 1;
        if half > self.half_seconds {
            let rate = self.answers as f64 / ((half - self.half_seconds) as f64 * 0.5);
            self.measured = SMOOTHING * rate + (1.0 - SMOOTHING) * self.measured;
            self.answers = 0;
        }
        // A clock that went back would otherwise stop the measurement until it has caught up.
        self.half_seconds = half;
    }

    fn cubic(&self, now: Nanos) -> f64 {
        let t = now.since(self.failed).as_secs_f64() - self.k;
        SCALE * t * t * t + self.w_max
    }

    fn refill(&mut self, now: Nanos) {
        let earned = now.since(self.refilled).as_secs_f64() * self.fill;
        self.tokens = (self.tokens + earned).min(self.capacity);
        self.refilled = now;
    }

    fn set_rate(&mut self, now: Nanos, rate: f64) {
        self.refill(now);
        self.fill = rate.max(self.min_fill);
        self.capacity = rate.max(1.0);
        self.tokens = self.tokens.min(self.capacity);
    }
}

/// An instant in a ticket: 2^20 ns, about a millisecond, of which 2^32 last 52 days.
fn stamp(at: Nanos) -> u32 {
    (at.0 >> 20) as u32
}

impl Admit for AwsAdaptive {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        class: u8,
        _: &mut R,
    ) -> Result<Pass, Refusal> {
        self.start(now);
        if !self.enabled {
            self.sent += 1;
            return Ok(Pass::default());
        }
        self.refill(now);
        let wait = if self.tokens < 1.0 {
            Nanos::from_secs_f64((1.0 - self.tokens) / self.fill)
        } else {
            Nanos::ZERO
        };
        if self.max_wait > Nanos::ZERO && wait > self.max_wait {
            self.refused += 1;
            return Err(Refusal::new(Reason::Throttled, class).until(now + (wait - self.max_wait)));
        }
        self.tokens -= 1.0;
        self.sent += 1;
        self.delayed += u64::from(wait > Nanos::ZERO);
        Ok(Pass { wait, ticket: stamp(now + wait) })
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        _: Pass,
        outcome: Outcome,
        _: Nanos,
        _: &mut R,
    ) {
        self.start(now);
        self.measure(now);
        let rate = if matches!(outcome, Outcome::Rejected | Outcome::Shed) {
            let r = if self.enabled { self.measured.min(self.fill) } else { self.measured };
            self.throttled += 1;
            self.w_max = r;
            self.k = libm::cbrt(r * (1.0 - BETA) / SCALE);
            self.failed = now;
            self.enabled = true;
            BETA * r
        } else {
            self.cubic(now)
        };
        self.set_rate(now, rate.min(2.0 * self.measured));
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, pass: Pass) {
        // Still before its turn: it was never sent, and the token is free again. What it waited
        // for may be some days off, hence the comparison of the difference.
        let ahead = pass.ticket.wrapping_sub(stamp(now));
        if pass.wait > Nanos::ZERO && ahead > 0 && ahead <= u32::MAX / 2 {
            self.tokens = (self.tokens + 1.0).min(self.capacity);
            self.gave_up += 1;
        }
    }
}

impl Observe for AwsAdaptive {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("enabled", if self.enabled { 1.0 } else { 0.0 });
        see("fill", self.fill);
        see("measured", self.measured);
        see("tokens", self.tokens);
        see("sent", self.sent as f64);
        see("delayed", self.delayed as f64);
        see("gave_up", self.gave_up as f64);
        see("throttled", self.throttled as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests;

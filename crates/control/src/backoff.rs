//! Backoff schedules: when a retry is sent. They never bound how many.
//!
//! Source of the jitter forms: "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015)
//! and its published simulator. With base b, cap c and n = 1 for the first retry:
//!
//! | growth | nominal delay of retry n |
//! |---|---|
//! | none | 0 |
//! | constant | b |
//! | linear | min(c, b n) |
//! | exponential | min(c, b f^(n-1)) |
//! | by cause | exponential, from another base if the callee refused before any work |
//! | millis exponential | exponential, cut to whole milliseconds at every step |
//! | millis doubling | twice the last while that is below c / 2, then c |
//!
//! | jitter | delay |
//! |---|---|
//! | none | nominal |
//! | equal | nominal/2 + U(0, nominal/2) |
//! | full | U(0, nominal) |
//! | exponential | exponential with mean nominal, at most c (memoryless: the retry orbit of queueing theory) |
//! | decorrelated | s = min(c, U(b, 3 s)), s starts at b; the growth is its own |
//! | around | nominal U(1 - p, 1 + p), after the cap, which it may exceed |
//! | around, in millis | the same as a whole number of milliseconds, cut at the cap |
//! | above | nominal + min(U(0, p nominal), c - nominal) |
//! | whole millis | a whole number of milliseconds below nominal |
//! | decorrelated v2 | a step along a smooth curve; the growth is its own |
//!
//! The 2015 article starts the exponential at b 2 for the first retry; most libraries, and
//! this crate, start at b. Write `base` twice as large to get the article's schedule.

mod plain;
mod published;
#[cfg(test)]
mod tests;

use rand_core::Rng;

use crate::chance::{below, unit};
use crate::entry::Entry;
use crate::{Nanos, Outcome};

/// The schedules that a system file can name.
pub(crate) const ENTRIES: &[&Entry] = &[
    &plain::IMMEDIATE,
    &plain::CONSTANT,
    &plain::LINEAR,
    &plain::EXPONENTIAL,
    &plain::DECORRELATED,
    &published::GRPC,
    &published::GRPC_LEGACY,
    &published::AWS,
    &published::AWS_2026,
    &published::ENVOY,
    &published::LINKERD,
    &published::RESILIENCE4J,
    &published::POLLY,
];

const MILLI: u64 = 1_000_000;

/// Steps of growth that are taken one by one; no published schedule needs a tenth of them.
const STEPS: u32 = 1024;

/// How the nominal delay grows with the number of the retry.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Growth {
    /// Retry at once.
    None,
    /// The base every time.
    Constant,
    /// The base times the number of the retry.
    Linear,
    /// The base times this factor for every further retry.
    Exponential(f64),
    /// Exponential from one of two bases: [`Backoff::for_cause`] chooses.
    ByCause {
        /// Growth for every further retry.
        factor: f64,
        /// The base after a refusal before any work; [`Backoff::base`] serves all other ends.
        refused: Nanos,
    },
    /// Exponential with this factor, cut to whole milliseconds at every step.
    MillisExponential(f64),
    /// In whole milliseconds: doubled while below half the cap, then the cap.
    MillisDoubling,
}

/// How chance spreads the nominal delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Jitter {
    /// Not at all: callers that failed together retry together.
    None,
    /// Half fixed, half uniform.
    Equal,
    /// Uniform from zero to the nominal delay.
    Full,
    /// Uniform from the base to three times the previous delay.
    Decorrelated,
    /// Exponential with the nominal delay as its mean, as retrial queues in theory have it.
    Exponential,
    /// Uniform within this many percent below and above the nominal delay. It is applied after
    /// the cap, so a delay can exceed the cap.
    Around(u16),
    /// The same as a whole number of milliseconds, of an uncapped nominal delay; the cap cuts
    /// what comes out.
    AroundMillis(u16),
    /// Up to this many percent on top of the nominal delay, but never above the cap.
    Above(u16),
    /// Uniform over the whole numbers of milliseconds below the nominal delay.
    WholeMillis,
    /// Polly's second decorrelated form: each delay is a step along a smooth curve that
    /// doubles for every retry.
    DecorrelatedV2,
}

/// A backoff schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// How the nominal delay grows.
    pub growth: Growth,
    /// The delay of the first retry before jitter.
    pub base: Nanos,
    /// No nominal delay exceeds this.
    pub cap: Nanos,
    /// How chance spreads it.
    pub jitter: Jitter,
}

/// A delay, and what the schedule remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The delay.
    pub delay: Nanos,
    /// To be handed to [`Backoff::draw`] for the next retry of the same call: the delay itself,
    /// or where [`Jitter::DecorrelatedV2`] stands on its curve.
    pub memory: Nanos,
}

impl Backoff {
    /// Retry at once.
    pub const NONE: Self =
        Self { growth: Growth::None, base: Nanos::ZERO, cap: Nanos::MAX, jitter: Jitter::None };

    /// The same delay each time.
    #[must_use]
    pub const fn constant(base: Nanos, jitter: Jitter) -> Self {
        Self { growth: Growth::Constant, base, cap: Nanos::MAX, jitter }
    }

    /// `base`, `2 base`, `3 base`, … up to `cap`.
    #[must_use]
    pub const fn linear(base: Nanos, cap: Nanos, jitter: Jitter) -> Self {
        Self { growth: Growth::Linear, base, cap, jitter }
    }

    /// `base`, `factor base`, `factor² base`, … up to `cap`.
    #[must_use]
    pub const fn exponential(base: Nanos, factor: f64, cap: Nanos, jitter: Jitter) -> Self {
        Self { growth: Growth::Exponential(factor), base, cap, jitter }
    }

    /// The schedule for a retry after this outcome. Only [`Growth::ByCause`] looks at it: an
    /// attempt that was refused before any work starts from its other base.
    #[inline]
    #[must_use]
    pub const fn for_cause(self, outcome: Outcome) -> Self {
        match (self.growth, outcome) {
            (Growth::ByCause { refused, .. }, Outcome::Rejected | Outcome::Shed) => {
                Self { base: refused, ..self }
            }
            _ => self,
        }
    }

    /// The delay of retry `n` (1 is the first) before jitter.
    #[inline]
    #[must_use]
    pub fn nominal(&self, n: u32) -> Nanos {
        let delay = match self.growth {
            Growth::None => Nanos::ZERO,
            Growth::Constant => self.base,
            Growth::Linear => Nanos(self.base.0.saturating_mul(u64::from(n.max(1)))),
            Growth::Exponential(factor) | Growth::ByCause { factor, .. } => {
                Nanos(grown(self.base.0 as f64, factor, self.cap.0 as f64, n) as u64)
            }
            Growth::MillisExponential(factor) => millis(millis_grown(self.base, factor, n)),
            Growth::MillisDoubling => millis(millis_doubled(self.base, self.cap, n)),
        };
        delay.min(self.cap)
    }

    /// The longest possible delay of retry `n`, where every retry of the call before it took its
    /// delay from this schedule as well.
    #[must_use]
    pub fn longest(&self, n: u32) -> Nanos {
        if let Growth::ByCause { factor, refused } = self.growth {
            let from = |base| Self { growth: Growth::Exponential(factor), base, ..*self };
            return from(self.base).longest(n).max(from(refused).longest(n));
        }
        let nominal = self.nominal(n);
        if nominal == Nanos::ZERO && self.jitter == Jitter::Exponential {
            return Nanos::ZERO;
        }
        match self.jitter {
            Jitter::None | Jitter::Equal | Jitter::Full => nominal,
            Jitter::Exponential => self.cap,
            Jitter::Decorrelated => {
                let mut longest = self.base;
                for _ in 0..n {
                    longest = Nanos(longest.0.saturating_mul(3)).min(self.cap);
                    if longest == self.cap {
                        break;
                    }
                }
                longest
            }
            Jitter::Around(percent) => around(nominal, percent, 1.0),
            Jitter::AroundMillis(percent) => {
                millis(around_millis(self.uncapped_millis(n), percent, 1.0)).min(self.cap)
            }
            Jitter::Above(percent) => self.above(nominal, percent, 1.0),
            Jitter::WholeMillis => millis((nominal.0 / MILLI).saturating_sub(1)),
            Jitter::DecorrelatedV2 => {
                let earlier = if n > 1 { self.curve(f64::from(n - 2)) } else { Nanos::ZERO };
                self.step(self.curve(f64::from(n.max(1))), earlier)
            }
        }
    }

    /// Draws the delay before retry `n` (1 is the first).
    ///
    /// `previous` is the delay before the retry before this one, `None` for the first; only
    /// decorrelated jitter looks at it. [`Jitter::DecorrelatedV2`] remembers something else: use
    /// [`Backoff::draw`].
    #[inline]
    pub fn delay<R: Rng + ?Sized>(&self, n: u32, previous: Option<Nanos>, rng: &mut R) -> Nanos {
        self.draw(n, previous, rng).delay
    }

    /// Draws the delay before retry `n` (1 is the first). `memory` is [`Drawn::memory`] of the
    /// retry before it, `None` for the first.
    #[inline]
    pub fn draw<R: Rng + ?Sized>(&self, n: u32, memory: Option<Nanos>, rng: &mut R) -> Drawn {
        if self.growth == Growth::None {
            return Drawn { delay: Nanos::ZERO, memory: Nanos::ZERO };
        }
        let delay = match self.jitter {
            Jitter::None => self.nominal(n),
            Jitter::Equal => {
                let nominal = self.nominal(n).0;
                Nanos(nominal - nominal / 2 + below(nominal / 2, rng))
            }
            Jitter::Full => Nanos(below(self.nominal(n).0, rng)),
            Jitter::Decorrelated => {
                let low = self.base.0;
                let high = memory.unwrap_or(self.base).0.saturating_mul(3).max(low);
                Nanos(low + below(high - low, rng)).min(self.cap)
            }
            Jitter::Exponential => {
                // 1 - u is in (0, 1], so the logarithm is finite.
                let nominal = self.nominal(n).0 as f64;
                Nanos((nominal * -libm::log(1.0 - unit(rng))) as u64).min(self.cap)
            }
            Jitter::Around(percent) => around(self.nominal(n), percent, unit(rng)),
            Jitter::AroundMillis(percent) => {
                millis(around_millis(self.uncapped_millis(n), percent, unit(rng))).min(self.cap)
            }
            Jitter::Above(percent) => self.above(self.nominal(n), percent, unit(rng)),
            Jitter::WholeMillis => millis(below(self.nominal(n).0 / MILLI, rng)),
            Jitter::DecorrelatedV2 => {
                let at = self.curve(f64::from(n.max(1) - 1) + unit(rng));
                let delay = self.step(at, memory.unwrap_or(Nanos::ZERO));
                return Drawn { delay, memory: at };
            }
        };
        Drawn { delay, memory: delay }
    }

    /// The nominal delay in whole milliseconds as if there were no cap.
    fn uncapped_millis(&self, n: u32) -> u64 {
        Self { cap: Nanos::MAX, ..*self }.nominal(n).0 / MILLI
    }

    fn above(&self, nominal: Nanos, percent: u16, u: f64) -> Nanos {
        let extra = Nanos((nominal.0 as f64 * (f64::from(percent) / 100.0) * u) as u64);
        nominal + extra.min(self.cap - nominal)
    }

    /// Where Polly's curve is at `t`: `2^t tanh(√(4 t))` in units of base / 1.4. The curve is
    /// kept in nanoseconds so that a call remembers its place as an integer; Polly itself cuts
    /// every delay to 100 ns.
    fn curve(&self, t: f64) -> Nanos {
        let f = libm::exp2(t) * libm::tanh(libm::sqrt(4.0 * t));
        Nanos((f * (self.base.0 as f64 / 1.4)) as u64)
    }

    /// The way from one place on the curve to a later one; beyond the end of time, the cap.
    fn step(&self, to: Nanos, from: Nanos) -> Nanos {
        if to == Nanos::MAX { self.cap } else { to.since(from).min(self.cap) }
    }
}

/// `base factor^(n-1)`, no further than the first value that reaches `cap`.
///
/// Step by step, because that is what the libraries do and rounding shows; but bounded.
#[inline]
fn grown(base: f64, factor: f64, cap: f64, n: u32) -> f64 {
    let mut delay = base;
    for _ in 1..n.min(STEPS) {
        if delay >= cap || factor <= 1.0 && delay < 1.0 {
            return delay;
        }
        let next = delay * factor;
        if next == delay {
            return delay;
        }
        delay = next;
    }
    if n > STEPS { delay * libm::pow(factor, f64::from(n - STEPS)) } else { delay }
}

/// The same in milliseconds, each step cut to a whole number.
fn millis_grown(base: Nanos, factor: f64, n: u32) -> u64 {
    let mut delay = base.0 / MILLI;
    for _ in 1..n.min(STEPS) {
        let next = (delay as f64 * factor) as u64;
        if next == delay {
            break;
        }
        delay = next;
    }
    delay
}

/// Envoy's interval before retry `n`.
fn millis_doubled(base: Nanos, cap: Nanos, n: u32) -> u64 {
    let (mut next, cap) = (base.0 / MILLI, cap.0 / MILLI);
    for _ in 1..n {
        if next == 0 || next == cap {
            break;
        }
        next = if next < cap / 2 { next * 2 } else { cap };
    }
    next
}

fn millis(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn around(nominal: Nanos, percent: u16, u: f64) -> Nanos {
    let p = f64::from(percent) / 100.0;
    Nanos((nominal.0 as f64 * (1.0 - p + 2.0 * p * u)) as u64)
}

/// resilience4j's `randomize`: the 1 ms that it adds to the range makes up for the cut, and
/// nothing is shorter than that.
fn around_millis(nominal: u64, percent: u16, u: f64) -> u64 {
    let (ms, p) = (nominal as f64, f64::from(percent) / 100.0);
    let (low, high) = (ms - p * ms, ms + p * ms);
    ((low + u * (high - low + 1.0)) as u64).clamp(1, (libm::ceil(high) as u64).max(1))
}

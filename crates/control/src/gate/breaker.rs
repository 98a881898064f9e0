//! Circuit breakers: one state machine, with the windows and the numbers of those in use.
//!
//! Sources: resilience4j `CircuitBreakerStateMachine` (`breaker`, `breaker-time`), Linkerd's
//! consecutive failure accrual (`breaker-consecutive`), Polly v8 `CircuitStateController`
//! (`polly-breaker`). Closed, open and half-open; time moves it on when it is next asked.
//!
//! Every state that lets attempts out has a number, which the [`Pass`] carries, so that an
//! attempt is known to be late when it ends in another state than it was let out in. None of the
//! three looks: what ends while the breaker is open is ignored, but an attempt sent before it
//! opened counts as a probe if it ends while half-open, so old news decides. With
//! [`BreakerRule::late`] off late ones are ignored everywhere.
//!
//! A clock that goes back restarts the wait of an open breaker; it never lengthens it by more.

mod history;
pub(super) mod page;
mod rule;

use rand_core::Rng;

use self::history::History;
pub use self::rule::{BreakerRule, Hung, Spread, Trip};
use super::{Admit, Pass};
use crate::chance::unit;
use crate::observe::Observe;
use crate::{Nanos, Outcome, Reason, Refusal};

/// What a breaker does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Lets everything through and watches.
    Closed,
    /// Lets nothing through.
    Open,
    /// Lets probes through.
    HalfOpen,
}

#[derive(Clone, Debug)]
enum Phase {
    Closed,
    Open { since: Nanos, wait: Nanos },
    HalfOpen(Probing),
}

/// The state of a half-open breaker.
#[derive(Clone, Debug)]
struct Probing {
    since: Nanos,
    /// How long it had been open.
    wait: Nanos,
    /// When another probe may follow, if the rule is [`Hung::Another`].
    another: Nanos,
    admitted: u32,
    ended: u32,
    failed: u32,
    slow: u32,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    opened: u64,
    half_opened: u64,
    reopened: u64,
    closed: u64,
    succeeded: u64,
    failed: u64,
    slow: u64,
    probes: u64,
    late: u64,
    refused: u64,
}

/// A circuit breaker.
#[derive(Clone, Debug)]
pub struct Breaker {
    rule: BreakerRule,
    history: History,
    phase: Phase,
    /// Goes up with every change of state.
    generation: u32,
    /// How often it has opened since it was last closed.
    openings: u32,
    counts: Counts,
}

impl Breaker {
    /// A closed breaker; `None` if a number is out of the range that its field states.
    #[must_use]
    pub fn try_new(rule: BreakerRule) -> Option<Self> {
        rule.valid().then(|| Self {
            rule,
            history: History::new(&rule),
            phase: Phase::Closed,
            generation: 0,
            openings: 0,
            counts: Counts::default(),
        })
    }

    /// What it does, as of the last call.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        match self.phase {
            Phase::Closed => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen(_) => BreakerState::HalfOpen,
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.generation = self.generation.wrapping_add(1);
        self.phase = phase;
    }

    fn open<R: Rng + ?Sized>(&mut self, since: Nanos, rng: &mut R) {
        let wait = self.next_wait(rng);
        self.openings = self.openings.saturating_add(1);
        self.enter(Phase::Open { since, wait });
    }

    fn next_wait<R: Rng + ?Sized>(&self, rng: &mut R) -> Nanos {
        let rule = &self.rule;
        let most = if rule.max_wait == Nanos::ZERO { Nanos::MAX } else { rule.max_wait };
        let mut wait = rule.wait;
        if rule.factor > 1.0 && self.openings > 0 {
            wait = wait.scale(libm::pow(rule.factor, f64::from(self.openings))).min(most);
        }
        if rule.jitter > 0.0 {
            let jitter = rule.jitter / 100.0;
            let u = unit(rng);
            wait = match rule.spread {
                Spread::Around => wait.scale(1.0 + jitter * (2.0 * u - 1.0)),
                Spread::Above => wait + wait.scale(jitter * u),
            };
        }
        wait.min(most)
    }

    /// Does what time alone does.
    fn pass_time<R: Rng + ?Sized>(&mut self, now: Nanos, rng: &mut R) {
        if let Phase::HalfOpen(probing) = &mut self.phase {
            probing.since = probing.since.min(now);
            probing.another = probing.another.min(now + probing.wait);
            if let Hung::Reopens(after) = self.rule.hung {
                let end = probing.since + after;
                if now >= end {
                    self.counts.reopened += 1;
                    self.open(end, rng);
                }
            }
        }
        if let Phase::Open { since, wait } = &mut self.phase {
            *since = (*since).min(now);
            if now >= *since + *wait {
                let wait = *wait;
                self.counts.half_opened += 1;
                self.enter(Phase::HalfOpen(Probing {
                    since: now,
                    wait,
                    another: now + wait,
                    admitted: 0,
                    ended: 0,
                    failed: 0,
                    slow: 0,
                }));
            }
        }
    }

    /// A probe has ended: decides once enough of them have.
    fn probed<R: Rng + ?Sized>(&mut self, now: Nanos, failed: bool, slow: bool, rng: &mut R) {
        let Phase::HalfOpen(probing) = &mut self.phase else { return };
        probing.ended += 1;
        probing.failed += u32::from(failed);
        probing.slow += u32::from(slow);
        if probing.ended < self.rule.probes.min(self.rule.min_calls) {
            return;
        }
        let (ended, failed, slow) = (probing.ended, probing.failed, probing.slow);
        if self.rule.exceeded(ended.into(), failed.into(), slow.into()) {
            self.counts.reopened += 1;
            self.open(now, rng);
        } else {
            self.counts.closed += 1;
            self.openings = 0;
            self.history.clear();
            self.enter(Phase::Closed);
        }
    }
}

impl Admit for Breaker {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        class: u8,
        rng: &mut R,
    ) -> Result<Pass, Refusal> {
        let refusal = Refusal::new(Reason::BreakerOpen, class);
        let pass = |generation| Ok(Pass { wait: Nanos::ZERO, ticket: generation });
        if matches!(self.phase, Phase::Closed) {
            return pass(self.generation);
        }
        self.pass_time(now, rng);
        let answer = match &mut self.phase {
            Phase::Closed => pass(self.generation),
            Phase::Open { since, wait } => Err(refusal.until(*since + *wait)),
            Phase::HalfOpen(probing) => {
                let another = self.rule.hung == Hung::Another;
                if probing.admitted < self.rule.probes || (another && now >= probing.another) {
                    probing.admitted += 1;
                    probing.another = now + probing.wait;
                    self.counts.probes += 1;
                    pass(self.generation)
                } else if another {
                    Err(refusal.until(probing.another))
                } else {
                    Err(refusal)
                }
            }
        };
        self.counts.refused += u64::from(answer.is_err());
        answer
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        pass: Pass,
        outcome: Outcome,
        latency: Nanos,
        rng: &mut R,
    ) {
        self.pass_time(now, rng);
        let late = pass.ticket != self.generation;
        self.counts.late += u64::from(late);
        if late && !self.rule.late {
            return;
        }
        let (failed, slow) = (self.rule.fails(outcome), latency > self.rule.slow);
        self.counts.succeeded += u64::from(!failed);
        self.counts.failed += u64::from(failed);
        self.counts.slow += u64::from(slow);
        match self.phase {
            Phase::Closed => {
                self.history.record(now, failed, slow);
                let judge = failed || self.rule.judges_successes;
                if judge && self.history.trips(&self.rule) {
                    self.counts.opened += 1;
                    self.open(now, rng);
                }
            }
            Phase::HalfOpen(_) => self.probed(now, failed, slow, rng),
            // Only time moves an open one on.
            Phase::Open { .. } => {}
        }
    }

    #[inline]
    fn cancel(&mut self, now: Nanos, pass: Pass) {
        let _ = now;
        if let Phase::HalfOpen(probing) = &mut self.phase
            && pass.ticket == self.generation
        {
            probing.admitted = probing.admitted.saturating_sub(1);
        }
    }
}

impl Observe for Breaker {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see(
            "state",
            match self.state() {
                BreakerState::Closed => 0.0,
                BreakerState::Open => 1.0,
                BreakerState::HalfOpen => 2.0,
            },
        );
        self.history.observe(&self.rule, see);
        let counts = &self.counts;
        see("opened", counts.opened as f64);
        see("half_opened", counts.half_opened as f64);
        see("reopened", counts.reopened as f64);
        see("closed", counts.closed as f64);
        see("succeeded", counts.succeeded as f64);
        see("failed", counts.failed as f64);
        see("slow", counts.slow as f64);
        see("probes", counts.probes as f64);
        see("late", counts.late as f64);
        see("refused", counts.refused as f64);
    }
}

#[cfg(test)]
mod tests;

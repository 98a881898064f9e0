//! Circuit breakers: one state machine, with the windows and the numbers of those in use.
//!
//! Sources: resilience4j `CircuitBreakerStateMachine` (`breaker`, `breaker-time`), Linkerd's
//! consecutive failure accrual (`breaker-consecutive`), Polly v8 `CircuitStateController`
//! (`polly-breaker`). Closed, open and half-open; time moves it on when it is next asked.
//!
//! Every state that lets attempts out has a number, which the [`Pass`] carries. An attempt that
//! ends when the breaker is in another state than when it was let out is counted as late and
//! changes nothing. Linkerd does that; resilience4j and Polly let an attempt of the closed state
//! decide over the half-open one, which lets old news count as a probe.
//!
//! A clock that goes back restarts the wait of an open breaker; it never lengthens it by more.

mod history;
pub(super) mod page;

use rand_core::Rng;

use self::history::History;
use super::{Admit, Pass};
use crate::chance::unit;
use crate::observe::Observe;
use crate::{Nanos, Outcome, Reason, Refusal};

/// What trips a closed breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// The rates over the last so many calls, 1 to 10,000.
    Calls(u32),
    /// The rates over a time of 1 ms to an hour, in 1 to 3,600 slices.
    Time(Nanos, u16),
    /// So many failures in a row, 1 to 1,000,000; rates and `min_calls` play no part.
    InARow(u32),
}

/// How chance changes the wait of an open breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Up to `jitter` shorter or longer.
    Around,
    /// Up to `jitter` longer.
    Above,
}

/// What a half-open breaker does when its probes do not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hung {
    /// Waits for them for ever.
    Blocks,
    /// Opens again after this.
    Reopens(Nanos),
    /// Sends another probe each time as much time has passed as it was open.
    Another,
}

/// The numbers of a breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerRule {
    /// What trips it.
    pub trip: Trip,
    /// Share of failures from which it opens, in percent: 0.001 to 100.
    pub failure_rate: f64,
    /// Share of slow calls from which it opens, in percent: 0.001 to 100.
    pub slow_rate: f64,
    /// A call that takes longer is slow; at least 1 ns.
    pub slow: Nanos,
    /// Calls in the window below which it does not judge: 1 to 1,000,000. No more than the
    /// window can hold is asked for.
    pub min_calls: u32,
    /// Whether a success can trip it too, by completing the minimum of calls or by being slow.
    pub judges_successes: bool,
    /// Probes of a half-open breaker: 1 to 10,000.
    pub probes: u32,
    /// What happens if they do not end.
    pub hung: Hung,
    /// How long it stays open: 1 ms to a year.
    pub wait: Nanos,
    /// What the wait is multiplied with whenever probes fail: 1 to 100.
    pub factor: f64,
    /// Longest wait; zero: no bound. Not below `wait`.
    pub max_wait: Nanos,
    /// How much chance changes the wait, in percent: 0 to 100.
    pub jitter: f64,
    /// In which direction.
    pub spread: Spread,
    /// Whether an attempt that was rejected or shed is a failure; otherwise it is a success,
    /// for the callee answers.
    pub rejections: bool,
}

impl BreakerRule {
    fn valid(&self) -> bool {
        let year = Nanos::from_secs(31_536_000);
        let trip = match self.trip {
            Trip::Calls(n) => (1..=10_000).contains(&n),
            Trip::Time(span, n) => {
                (Nanos::from_millis(1)..=Nanos::from_secs(3600)).contains(&span)
                    && (1..=3600).contains(&n)
            }
            Trip::InARow(n) => (1..=1_000_000).contains(&n),
        };
        let hung = match self.hung {
            Hung::Reopens(after) => (Nanos(1)..=year).contains(&after),
            Hung::Blocks | Hung::Another => true,
        };
        trip && hung
            && (0.001..=100.0).contains(&self.failure_rate)
            && (0.001..=100.0).contains(&self.slow_rate)
            && self.slow > Nanos::ZERO
            && (1..=1_000_000).contains(&self.min_calls)
            && (1..=10_000).contains(&self.probes)
            && (Nanos::from_millis(1)..=year).contains(&self.wait)
            && (1.0..=100.0).contains(&self.factor)
            && (self.max_wait == Nanos::ZERO || (self.wait..=year).contains(&self.max_wait))
            && (0.0..=100.0).contains(&self.jitter)
    }

    fn fails(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Success => false,
            Outcome::Rejected | Outcome::Shed => self.rejections,
            Outcome::TimedOut | Outcome::Failed | Outcome::FailedBelow => true,
        }
    }

    /// Whether so many failures or slow calls of `calls` are too many.
    fn exceeded(&self, calls: u64, failed: u64, slow: u64) -> bool {
        failed as f64 * 100.0 >= self.failure_rate * calls as f64
            || slow as f64 * 100.0 >= self.slow_rate * calls as f64
    }
}

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
        if pass.ticket != self.generation {
            self.counts.late += 1;
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
            // Nothing is let out while it is open, so nothing carries this number.
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

//! Decides whether a system has recovered, will, or will not.
//!
//! **Recovered**: for a whole hold time goodput was at least `recovered_at` of the offered load
//! and the backlog did not grow.
//!
//! **Will not**: the backlog (attempts queued or in service, calls in backoff, keys that
//! nobody has cached) shows no drift towards zero. Whether somebody watches for one minute or
//! ten must not change the answer, so the decision is made on the drift and its error, not
//! on the clock: the backlog of a storm is a random walk whose steps have a mean. Its
//! increments over eight batches of the second half of what was seen give that mean and its
//! standard error. A drift that is significantly negative means that it heals, however slowly;
//! so does a cache that goes on filling. Who waits for neither to end sees it projected.
//!
//! Where next to nothing waits and goodput is low all the same, a control keeps the load out: a
//! breaker that is open, a throttle that remembers. No drift tells when it will let go, so that
//! such a run goes on to its end.

use damper_control::Nanos;

/// What a run showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The state of the system.
    pub state: State,
    /// From the end of the trigger until goodput was back.
    pub recovery: Option<Nanos>,
    /// The recovery was not seen but follows from the drift of the backlog.
    pub projected: bool,
    /// How it was decided, in words.
    pub reason: String,
}

/// The state that a run ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It serves, or has recovered, or is about to.
    Stable,
    /// The trigger has gone and it does not come back.
    Metastable,
    /// It did not serve its load even without a trigger.
    Overloaded,
    /// The run was interrupted before it could be told.
    Undecided,
}

impl State {
    /// Its name in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Metastable => "metastable",
            Self::Overloaded => "overloaded",
            Self::Undecided => "undecided",
        }
    }
}

/// What the judge is told.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) interval: u64,
    pub(crate) warmup: u64,
    /// Start and end of the trigger; `None`: nothing goes wrong.
    pub(crate) trigger: Option<(u64, u64)>,
    pub(crate) watch: u64,
    pub(crate) hold: u64,
    pub(crate) recovered_at: f64,
    /// How long the longest chain of retries of one request can last.
    pub(crate) loop_time: u64,
    /// How long a control may stand still before it does something.
    pub(crate) memory: u64,
    /// End the run as soon as the answer is known.
    pub(crate) early: bool,
    pub(crate) most_open: usize,
    /// Without a trigger: how long the whole run is, and the share of its requests that may fail
    /// before the load counts as not served.
    pub(crate) length: u64,
    pub(crate) may_fail: f64,
}

/// What happened in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) offered: u64,
    pub(crate) good: u64,
    /// Requests that ended, well or not.
    pub(crate) ended: u64,
    /// Attempts queued or in service and calls in backoff, at the end.
    pub(crate) backlog: u64,
    /// Hot keys that are neither cached nor being fetched, at the end.
    pub(crate) cold: u64,
    /// Hot keys that are not cached, at the end.
    pub(crate) missing: u64,
}

/// One interval as the judge remembers it.
#[derive(Clone, Copy, Debug, Default)]
struct Tick {
    offered: u64,
    good: u64,
    backlog: u64,
    missing: u64,
}

/// The drift of the backlog, per second, with its standard error.
#[derive(Clone, Copy, Debug)]
struct Drift {
    per_s: f64,
    error: f64,
}

/// Standard errors that a drift must be away from zero.
const SURE: f64 = 3.0;
const BATCHES: usize = 8;
/// Requests without which goodput says nothing: with fewer, a system that serves four fifths
/// would look well now and then.
const ENOUGH: u64 = 50;
/// Ticks kept; more are merged in pairs.
const MOST_TICKS: usize = 1 << 16;

pub(crate) struct Judge {
    q: Question,
    before: Tick,
    backlog_before: u64,
    /// Since the trigger ended (or since the warm-up, without a trigger).
    after: Vec<Tick>,
    /// The last ticks that make up a hold time and enough requests to judge by: how many they
    /// leave out, and their sum.
    hold: (usize, Tick),
    /// Offered and good requests in `after`.
    total: (u64, u64),
    /// Width of an entry of `after`, nanoseconds.
    width: u64,
    partial: Tick,
    ticks_in_partial: u64,
    checkpoint: u64,
    /// Checkpoints in a row, beyond the watch, at which it was healing.
    healing: u32,
    /// Requests that ended badly, without a trigger.
    failed: u64,
    pub(crate) verdict: Option<Verdict>,
}

impl Judge {
    pub(crate) fn new(q: Question) -> Self {
        let ticks = q.interval.saturating_mul(10);
        let first =
            q.loop_time.saturating_mul(2).max(ticks).max(q.memory).min(q.watch.max(q.interval));
        Self {
            before: Tick::default(),
            backlog_before: 0,
            after: Vec::new(),
            hold: (0, Tick::default()),
            total: (0, 0),
            width: q.interval,
            partial: Tick::default(),
            ticks_in_partial: 0,
            checkpoint: first,
            healing: 0,
            failed: 0,
            verdict: None,
            q,
        }
    }

    /// One interval has passed. `Some`: the run can end.
    pub(crate) fn tick(&mut self, now: u64, counts: Counts) -> Option<crate::run::Ending> {
        let Counts { offered, good, ended, backlog, cold, missing } = counts;
        if now <= self.q.warmup {
            return None;
        }
        let start = now - self.q.interval;
        let (from, until) = self.q.trigger.unwrap_or((self.q.warmup, self.q.warmup));
        if now <= from {
            self.before.offered += offered;
            self.before.good += good;
            self.backlog_before = self.backlog_before.max(backlog);
            let healthy = self.before_is_healthy();
            let last = now + self.q.interval > from;
            return (self.q.early && last && !healthy).then(|| {
                self.verdict = Some(self.overloaded());
                crate::run::Ending::Decided
            });
        }
        if start < until {
            return None;
        }
        self.remember(Tick { offered, good, backlog: backlog + cold, missing });
        if self.q.trigger.is_none() && self.q.early {
            self.failed += ended.saturating_sub(good);
            self.verdict = self.cannot_serve(now);
        }
        if self.verdict.is_none() && self.q.trigger.is_some() {
            self.verdict = self.recovered();
            let elapsed = now - until;
            if self.verdict.is_none() && self.q.early && elapsed >= self.checkpoint {
                self.checkpoint = elapsed + elapsed / 2;
                self.verdict = self.will_not(elapsed).or_else(|| self.heals(elapsed));
            }
        }
        (self.q.early && self.verdict.is_some()).then_some(crate::run::Ending::Decided)
    }

    fn remember(&mut self, tick: Tick) {
        self.partial.offered += tick.offered;
        self.partial.good += tick.good;
        (self.partial.backlog, self.partial.missing) = (tick.backlog, tick.missing);
        self.ticks_in_partial += 1;
        if self.ticks_in_partial * self.q.interval < self.width {
            return;
        }
        let tick = std::mem::take(&mut self.partial);
        self.after.push(tick);
        self.total = (self.total.0 + tick.offered, self.total.1 + tick.good);
        self.hold.1.offered += tick.offered;
        self.hold.1.good += tick.good;
        self.shorten();
        self.ticks_in_partial = 0;
        if self.after.len() >= MOST_TICKS {
            let merge = |p: &[Tick]| Tick {
                offered: p.iter().map(|t| t.offered).sum(),
                good: p.iter().map(|t| t.good).sum(),
                backlog: p[p.len() - 1].backlog,
                missing: p[p.len() - 1].missing,
            };
            self.after = self.after.chunks(2).map(merge).collect();
            self.width *= 2;
            // A pair that straddles the start of the window goes into it as a whole.
            let start = self.hold.0 / 2;
            let sum = merge(&self.after[start..]);
            self.hold = (start, sum);
            self.shorten();
        }
    }

    fn hold_ticks(&self) -> usize {
        self.q.hold.div_ceil(self.width).max(1) as usize
    }

    /// Lets the oldest ticks out of the window of the hold time as long as it holds enough.
    fn shorten(&mut self) {
        let hold = self.hold_ticks();
        let (start, sum) = &mut self.hold;
        while self.after.len() - *start > hold {
            let oldest = self.after[*start];
            if sum.offered - oldest.offered < ENOUGH {
                break;
            }
            *start += 1;
            sum.offered -= oldest.offered;
            sum.good -= oldest.good;
        }
    }

    /// Whether more requests have failed than may fail in the whole run.
    fn cannot_serve(&self, now: u64) -> Option<Verdict> {
        let (offered, _) = self.served();
        let seen = (now - self.q.warmup) as f64;
        let all = offered as f64 * (self.q.length as f64 / seen).max(1.0);
        (self.after.len() >= 10 && self.failed as f64 > self.q.may_fail * all).then(|| Verdict {
            state: State::Overloaded,
            recovery: None,
            projected: false,
            reason: format!("{} requests failed without a trigger", self.failed),
        })
    }

    fn before_is_healthy(&self) -> bool {
        let Tick { offered, good, .. } = self.before;
        offered < ENOUGH || good as f64 >= self.q.recovered_at * offered as f64
    }

    fn overloaded(&self) -> Verdict {
        let share = 100.0 * self.before.good as f64 / self.before.offered.max(1) as f64;
        Verdict {
            state: State::Overloaded,
            recovery: None,
            projected: false,
            reason: format!("only {share:.1} % of the load was served well before the trigger"),
        }
    }

    fn recovered(&self) -> Option<Verdict> {
        let (start, sum) = self.hold;
        let span = self.after.len() - start;
        let served = sum.good as f64 >= self.q.recovered_at * sum.offered as f64;
        if span < self.hold_ticks() || sum.offered < ENOUGH || !served {
            return None;
        }
        let first = self.after[start].backlog as f64;
        let last = self.after[self.after.len() - 1].backlog as f64;
        // Goodput can look fine while a queue still grows towards the timeout.
        if last > self.usual() && last > first + 3.0 * first.max(1.0).sqrt() {
            return None;
        }
        Some(Verdict {
            state: State::Stable,
            recovery: Some(Nanos(start as u64 * self.width)),
            projected: false,
            reason: format!(
                "goodput was back at {:.0} % of the load and stayed there for {}",
                self.q.recovered_at * 100.0,
                Nanos(span as u64 * self.width)
            ),
        })
    }

    /// A backlog that says nothing: no more than before the trigger, or nearly.
    fn usual(&self) -> f64 {
        2.0 * self.backlog_before as f64 + 10.0
    }

    /// Next to nothing has waited for a whole hold time.
    fn idle(&self) -> bool {
        self.after[self.hold.0..].iter().all(|t| t.backlog as f64 <= self.usual())
    }

    fn drift(&self) -> Option<Drift> {
        let half = &self.after[self.after.len() / 2..];
        let length = half.len() / BATCHES;
        if length == 0 {
            return None;
        }
        let tail = &half[half.len() - length * BATCHES..];
        let before = self.after[self.after.len() - length * BATCHES - 1].backlog;
        let mut last = before as f64;
        let mut steps = [0.0; BATCHES];
        for (step, batch) in steps.iter_mut().zip(tail.chunks(length)) {
            let end = batch[length - 1].backlog as f64;
            *step = end - last;
            last = end;
        }
        let mean = steps.iter().sum::<f64>() / BATCHES as f64;
        let variance =
            steps.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (BATCHES - 1) as f64;
        let seconds = Nanos(length as u64 * self.width).as_secs_f64();
        Some(Drift { per_s: mean / seconds, error: (variance / BATCHES as f64).sqrt() / seconds })
    }

    /// Whether it can be told by now that it will not recover.
    fn will_not(&self, elapsed: u64) -> Option<Verdict> {
        let drift = self.drift()?;
        if self.fills().is_some() || drift.per_s < -SURE * drift.error {
            return None;
        }
        let half = &self.after[self.after.len() / 2..];
        let (offered, good) = half.iter().fold((0, 0), |(o, g), t| (o + t.offered, g + t.good));
        let well = good as f64 >= self.q.recovered_at * offered as f64;
        let backlog = self.after.last()?.backlog as f64;
        let fastest_drain = SURE * drift.error - drift.per_s;
        let patience = 4.0 * Nanos(self.q.watch.max(elapsed)).as_secs_f64();
        let reason = if drift.per_s > SURE * drift.error {
            format!("the backlog grows by {:.1}/s without a trigger", drift.per_s)
        } else if well || offered < ENOUGH || self.idle() {
            return None;
        } else if fastest_drain <= 0.0 || backlog / fastest_drain > patience {
            format!("a backlog of {backlog:.0} attempts does not drain")
        } else {
            return None;
        };
        Some(Verdict { state: State::Metastable, recovery: None, projected: false, reason })
    }

    /// Whether it has been healing for so long that its end need not be seen.
    fn heals(&mut self, elapsed: u64) -> Option<Verdict> {
        let verdict = self.projection(SURE);
        self.healing =
            if elapsed > self.q.watch && verdict.is_some() { self.healing + 1 } else { 0 };
        verdict.filter(|_| self.healing >= 2)
    }

    /// Keys per second by which a cold cache has filled over the second half of what was seen,
    /// if at that pace it is full within sixty times the watch.
    fn fills(&self) -> Option<f64> {
        let half = &self.after[self.after.len() / 2..];
        let (first, last) = (half.first()?.missing, half.last()?.missing);
        let filled = first.checked_sub(last).filter(|n| *n > 20)?;
        let rate = filled as f64 / Nanos(half.len() as u64 * self.width).as_secs_f64();
        let patience = 60.0 * Nanos(self.q.watch).as_secs_f64();
        (last as f64 / rate < patience).then_some(rate)
    }

    /// Recovery as it follows from what fills and drains.
    fn projection(&self, sure: f64) -> Option<Verdict> {
        let last = self.after.last()?;
        let drift = self.drift()?;
        let (rest, reason) = match self.fills() {
            Some(rate) => {
                let rest = last.missing as f64 / rate;
                (
                    rest,
                    format!(
                        "the cache fills by {rate:.0} keys/s, {} are left: at least {rest:.0} s more",
                        last.missing
                    ),
                )
            }
            None if drift.per_s + sure * drift.error < 0.0 && !self.idle() => {
                let rest = last.backlog as f64 / -drift.per_s;
                let drains = -drift.per_s;
                (
                    rest,
                    format!(
                        "the backlog of {} drains by {drains:.1}/s: about {rest:.0} s more",
                        last.backlog
                    ),
                )
            }
            None => return None,
        };
        let seen = Nanos(self.after.len() as u64 * self.width);
        let recovery = Some(seen + Nanos::from_secs_f64(rest));
        Some(Verdict { state: State::Stable, recovery, projected: true, reason })
    }

    /// The verdict when there is no more to see.
    pub(crate) fn conclude(&mut self, ending: crate::run::Ending) -> Verdict {
        use crate::run::Ending;
        if let Some(verdict) = self.verdict.take() {
            if self.q.trigger.is_some() && !self.before_is_healthy() {
                return self.overloaded();
            }
            return verdict;
        }
        if self.q.trigger.is_none() {
            return self.conclude_untriggered(ending);
        }
        if !self.before_is_healthy() {
            return self.overloaded();
        }
        let verdict = |state, reason| Verdict { state, recovery: None, projected: false, reason };
        match ending {
            Ending::Interrupted => {
                return verdict(State::Undecided, "interrupted before it could be told".to_owned());
            }
            Ending::TooManyOpen => {
                let most = self.q.most_open;
                return verdict(
                    State::Metastable,
                    format!("the backlog passed {most} open attempts"),
                );
            }
            Ending::TimeOver | Ending::Decided => {}
        }
        if let Some(projected) = self.projection(2.4) {
            return projected;
        }
        let (offered, _) = self.total;
        if offered < ENOUGH {
            return verdict(
                State::Undecided,
                format!("only {offered} requests arrived after the trigger: watch longer"),
            );
        }
        let backlog = self.after.last().map_or(0, |t| t.backlog);
        let (_, held) = self.hold;
        if self.idle() && held.offered >= ENOUGH {
            let share = 100.0 * held.good as f64 / held.offered as f64;
            return verdict(
                State::Metastable,
                format!("nothing waits to be served, and {share:.1} % of the load is served well"),
            );
        }
        match self.drift() {
            Some(d) => verdict(
                State::Metastable,
                format!(
                    "a backlog of {backlog} attempts does not drain ({:+.1}/s ± {:.1})",
                    d.per_s,
                    2.4 * d.error
                ),
            ),
            None => verdict(State::Undecided, "watched too briefly to tell".to_owned()),
        }
    }

    fn conclude_untriggered(&self, ending: crate::run::Ending) -> Verdict {
        use crate::run::Ending;
        let (offered, good) = self.total;
        let share = good as f64 / offered.max(1) as f64;
        let growing = self
            .drift()
            .filter(|d| d.per_s > SURE * d.error && d.per_s > 0.005 * self.rate(offered));
        let (state, reason) = match growing {
            _ if ending == Ending::Interrupted && offered == 0 => {
                (State::Undecided, "interrupted".to_owned())
            }
            _ if ending == Ending::TooManyOpen => {
                (State::Overloaded, "the backlog has no bound".to_owned())
            }
            Some(d) => (State::Overloaded, format!("the backlog grows by {:.1}/s", d.per_s)),
            None if offered > 0 && share < self.q.recovered_at => (
                State::Overloaded,
                format!("only {:.1} % of the load was served well", share * 100.0),
            ),
            None => (State::Stable, format!("{:.1} % of the load was served well", share * 100.0)),
        };
        Verdict { state, recovery: None, projected: false, reason }
    }

    fn rate(&self, offered: u64) -> f64 {
        offered as f64 / Nanos(self.after.len().max(1) as u64 * self.width).as_secs_f64()
    }

    /// Share of the load served well since the warm-up, without a trigger.
    pub(crate) fn served(&self) -> (u64, u64) {
        self.total
    }
}

#[cfg(test)]
mod tests;

//! A drill that is under way.

use std::time::Duration;

use damper_system::{Abort, Drill, PhaseKind, Pull, Strength};
use tokio::time::Instant;

use super::{Drilling, Poll};
use crate::act::{Act, Begun, PATIENCE};
use crate::judge::{Rule, is_short};
use crate::lever;
use crate::live::{Live, Setup, duration};
use crate::load::Tally;
use crate::series::{Series, Tick};
use crate::trigger;
use crate::undo::Undo;
use crate::words;

/// Why a drill stops.
#[derive(Debug)]
pub(crate) enum Stop {
    Aborted(String),
    Interrupted,
    Failed(String),
}

/// A pull of a lever.
pub(crate) struct Pulled {
    pub(crate) lever: String,
    pub(crate) action: String,
    pub(crate) at: Duration,
}

/// A phase that has begun.
pub(crate) struct Passed {
    pub(crate) name: String,
    pub(crate) from: Duration,
    pub(crate) to: Option<Duration>,
}

pub(crate) struct Going<'a> {
    with: Drilling<'a>,
    live: Option<Live>,
    pub(crate) series: std::sync::Arc<Series>,
    pub(crate) poll: Poll,
    pub(crate) rule: Rule,
    pub(crate) events: Vec<(Duration, String)>,
    pub(crate) passed: Vec<Passed>,
    pub(crate) pulls: Vec<Pulled>,
    /// The start of the first trigger, the end of the last.
    pub(crate) trigger: Option<(Duration, Option<Duration>)>,
    pub(crate) tally: Option<Tally>,
}

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(50);

impl<'a> Going<'a> {
    pub(crate) fn start(with: Drilling<'a>, setup: &Setup) -> Self {
        let live = setup.start(0.0);
        let series = live.series.clone();
        let poll = Poll::start(with.drill, with.system, with.places);
        let rule = rule(with.drill);
        Self {
            with,
            live: Some(live),
            series,
            poll,
            rule,
            events: Vec::new(),
            passed: Vec::new(),
            pulls: Vec::new(),
            trigger: None,
            tally: None,
        }
    }

    pub(crate) fn drill(&self) -> &'a Drill {
        self.with.drill
    }

    fn event(&mut self, what: String) {
        (self.with.say)(&what);
        self.events.push((self.series.now(), what));
    }

    /// All phases.
    pub(crate) async fn phases(&mut self) -> Result<(), Stop> {
        for phase in &self.drill().phases {
            let (name, from) = (phase.name.clone(), self.series.now());
            (self.with.say)(&name);
            self.passed.push(Passed { name, from, to: None });
            self.phase(&phase.kind).await?;
            if let Some(passed) = self.passed.last_mut() {
                passed.to = Some(self.series.now());
            }
        }
        Ok(())
    }

    async fn phase(&mut self, kind: &'a PhaseKind) -> Result<(), Stop> {
        match kind {
            PhaseKind::Load { share, over } => self.bring(*share, duration(*over)).await,
            PhaseKind::Hold(time) => self.wait(duration(*time), |_| false).await.map(|_| ()),
            PhaseKind::Start { trigger: index, lasts } => {
                self.start_trigger(*index).await?;
                let lasts = lasts.or_else(|| {
                    trigger::own_length(self.drill().triggers.get(*index)?, self.with.system)
                });
                if let Some(lasts) = lasts.map(duration) {
                    self.wait(lasts, |_| false).await?;
                    self.stop_trigger(*index).await?;
                }
                Ok(())
            }
            PhaseKind::Stop(index) => self.stop_trigger(*index).await,
            PhaseKind::Recover(most) => {
                let recovered = self.wait(duration(*most), Self::has_recovered).await?;
                self.event(if recovered { "recovered" } else { "has not recovered" }.to_owned());
                Ok(())
            }
            PhaseKind::Healthy(most) => {
                let since = self.series.index(self.series.now()) + 1;
                let healthy =
                    self.wait(duration(*most), move |going| going.is_healthy(since)).await?;
                let what = if healthy {
                    "what is let in is served well"
                } else {
                    "what is let in is not served well"
                };
                self.event(what.to_owned());
                Ok(())
            }
            PhaseKind::Lever { lever, pull } => self.pull(*lever, pull).await,
            PhaseKind::Ask(text) => self.ask(text).await,
        }
    }

    /// Brings the load to a share of itself, evenly.
    async fn bring(&mut self, share: f64, over: Duration) -> Result<(), Stop> {
        let from = self.live.as_ref().map_or(0.0, Live::share);
        let begun = Instant::now();
        while begun.elapsed() < over {
            let done = begun.elapsed().as_secs_f64() / over.as_secs_f64();
            if let Some(live) = &mut self.live {
                live.set(from + (share - from) * done.min(1.0));
            }
            self.wait(LOOK, |_| false).await?;
        }
        if let Some(live) = &mut self.live {
            live.set(share);
        }
        Ok(())
    }

    /// Waits; whether what was waited for came.
    async fn wait(
        &mut self,
        most: Duration,
        mut until: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Stop> {
        let end = Instant::now() + most;
        loop {
            self.may_go_on()?;
            if until(self) {
                return Ok(true);
            }
            let now = Instant::now();
            if now >= end {
                return Ok(false);
            }
            tokio::select! {
                () = tokio::time::sleep_until(end.min(now + LOOK)) => {}
                Ok(()) = self.with.stop.changed() => {}
            }
        }
    }

    fn may_go_on(&self) -> Result<(), Stop> {
        if *self.with.stop.borrow() {
            return Err(Stop::Interrupted);
        }
        if self.live.as_ref().is_some_and(Live::has_ended) {
            let why =
                "the load has ended: it reached `bounds.requests` or `bounds.time`, or an error";
            return Err(Stop::Failed(why.to_owned()));
        }
        match aborts(self.drill(), &self.series, &self.poll) {
            Some(why) => Err(Stop::Aborted(why)),
            None => Ok(()),
        }
    }

    /// Intervals that are over.
    pub(crate) fn complete(&self) -> Vec<Tick> {
        self.series.complete()
    }

    /// Whether the metric of the plan says that all is well in an interval.
    pub(crate) fn metric_is_well(&self, tick: usize) -> bool {
        metric_is_well(self.drill(), &self.series, &self.poll, tick)
    }

    fn has_recovered(&self) -> bool {
        let from = match self.trigger {
            Some((_, Some(end))) => self.series.index(end),
            // Nothing has gone wrong, or still does: as it is now.
            _ => self.complete().len().saturating_sub(self.rule.hold),
        };
        self.rule.recovered(&self.complete(), from, &|tick| self.metric_is_well(tick)).is_some()
    }

    fn is_healthy(&self, since: usize) -> bool {
        let ticks = self.complete();
        let first = ticks.len().saturating_sub(self.rule.hold);
        first >= since && self.rule.is_healthy(&ticks[first..]) == Some(true)
    }

    async fn start_trigger(&mut self, index: usize) -> Result<(), Stop> {
        let Some(cause) = self.drill().triggers.get(index) else { return Ok(()) };
        let script = trigger::script(self.drill(), cause, self.with.places);
        let id = format!("trigger {}", cause.name);
        let what = format!("{id} is stopped");
        let may_start = script.may_start().await;
        let undo = Undo::new(id, what, script.stop, script.checks);
        let undo = undo.on(trigger::place(cause), self.with.places);
        let failed = |why: String| Stop::Failed(format!("trigger {}: {why}", cause.name));
        may_start.map_err(&failed)?;
        self.with.ledger.arm(undo).map_err(|error| failed(error.to_string()))?;
        let now = self.series.now();
        let first = self.trigger.map_or(now, |(first, _)| first);
        self.trigger = Some((first, None));
        self.event(format!("trigger {} starts", cause.name));
        for act in &script.start {
            self.act(act, PATIENCE, &failed).await?;
        }
        Ok(())
    }

    /// Does something. While a command is under way, how to end it is in the ledger: whoever undoes
    /// what it began must not be overtaken by it.
    async fn act(
        &mut self,
        act: &Act,
        patience: Duration,
        failed: &dyn Fn(String) -> Stop,
    ) -> Result<(), Stop> {
        let begun = act.begin().map_err(|error| failed(error.to_string()))?;
        let undo = begun.undo();
        let id = undo.as_ref().map(|undo| undo.id.clone());
        if let Some(undo) = undo {
            self.with.ledger.arm(undo).map_err(|error| failed(error.to_string()))?;
        }
        let done = self.under_way(begun, patience, failed).await;
        if let Some(id) = id {
            self.with.ledger.disarm(&id).map_err(|error| failed(error.to_string()))?;
        }
        done
    }

    /// It may take a while, and what ends a drill ends that, too.
    async fn under_way(
        &mut self,
        begun: Begun<'_>,
        patience: Duration,
        failed: &dyn Fn(String) -> Stop,
    ) -> Result<(), Stop> {
        let mut done = std::pin::pin!(begun.run_within(patience));
        loop {
            self.may_go_on()?;
            tokio::select! {
                done = &mut done => return done.map(|_| ()).map_err(|e| failed(e.to_string())),
                () = tokio::time::sleep(LOOK) => {}
                Ok(()) = self.with.stop.changed() => {}
            }
        }
    }

    async fn stop_trigger(&mut self, index: usize) -> Result<(), Stop> {
        let Some(cause) = self.drill().triggers.get(index) else { return Ok(()) };
        self.trigger_ends();
        let stopped = self.with.ledger.undo(&format!("trigger {}", cause.name)).await;
        stopped.map_err(|why| Stop::Failed(format!("trigger {}: {why}", cause.name)))?;
        self.event(format!("trigger {} has stopped", cause.name));
        Ok(())
    }

    fn trigger_ends(&mut self) {
        let now = self.series.now();
        self.trigger = self.trigger.map(|(first, _)| (first, Some(now)));
    }

    async fn pull(&mut self, index: usize, pull: &Pull) -> Result<(), Stop> {
        let (drill, places) = (self.drill(), self.with.places);
        let Some(of) = drill.levers.get(index) else { return Ok(()) };
        let failed = |why: String| Stop::Failed(format!("lever {}: {why}", of.name));
        let open = lever::opens(pull);
        let undo = lever::reopen(drill, index, pull.class, places);
        if let Some(undo) = undo.filter(|_| !open) {
            self.with.ledger.arm(undo).map_err(|error| failed(error.to_string()))?;
        }
        let why = format!("the drill {}: {}", drill.name, words::pull(drill, pull));
        for act in lever::acts(drill, of, pull, places, &why) {
            self.act(&act, lever::patience(pull), &failed).await?;
        }
        if open {
            for id in lever::opened(drill, of, pull) {
                self.with.ledger.disarm(&id).map_err(|error| failed(error.to_string()))?;
            }
        }
        let (lever, action, at) = (of.name.clone(), words::pull(drill, pull), self.series.now());
        self.event(format!("lever {lever}: {action}"));
        self.pulls.push(Pulled { lever, action, at });
        Ok(())
    }

    async fn ask(&mut self, text: &'a str) -> Result<(), Stop> {
        let people = self.with.people;
        let mut answer = people.ask(text);
        // The load goes on meanwhile, and so does what ends it.
        let who = loop {
            self.may_go_on()?;
            tokio::select! {
                who = &mut answer => break who,
                () = tokio::time::sleep(LOOK) => {}
                Ok(()) = self.with.stop.changed() => {}
            }
        };
        match who {
            Some(who) => {
                self.event(format!("{who} says that it is done: {text}"));
                Ok(())
            }
            None => Err(Stop::Aborted(format!("nobody says that it is done: {text}"))),
        }
    }

    /// The way back: no load, triggers stopped, levers opened. All of it is tried.
    pub(crate) async fn back(&mut self) -> Result<(), String> {
        if let Some(live) = &mut self.live {
            live.cut();
        }
        let (mut failed, mut load) = (Vec::new(), Ok(()));
        let ids: Vec<String> = self.with.ledger.left().iter().map(|u| u.id.clone()).collect();
        if ids.iter().any(|id| id.starts_with("trigger")) {
            self.trigger_ends();
        }
        for undo in self.with.ledger.left().to_vec().into_iter().rev() {
            match self.with.ledger.undo(&undo.id).await {
                Ok(()) => self.event(undo.what),
                Err(why) => failed.push(format!("{}: {why}", undo.id)),
            }
        }
        if let Some(live) = self.live.take() {
            match live.end().await {
                Ok(tally) => self.tally = Some(tally),
                Err(why) => load = Err(format!("the load: {why}")),
            }
        }
        if failed.is_empty() {
            return load;
        }
        let not_undone = format!("not undone, see `damper drill --lift`: {}", failed.join("; "));
        Err(load.map_or_else(|why| format!("{not_undone}; {why}"), |()| not_undone.clone()))
    }
}

/// The abort condition of a plan that holds, in words.
pub(crate) fn aborts(drill: &Drill, series: &Series, poll: &Poll) -> Option<String> {
    let ticks = series.complete();
    let holds = |abort: &&Abort| {
        let width = series.width().as_secs_f64();
        let many = (duration(abort.lasts).as_secs_f64() / width).ceil().max(1.0) as usize;
        match abort.what {
            Strength::Goodput { share, class } => is_short(&ticks, many, share, class),
            Strength::Metric(watched) => {
                let seen = poll.seen(watched.metric);
                let bad = |value: &Option<f64>| value.is_some_and(|v| watched.limit.holds(v));
                let first = seen.len().checked_sub(many);
                first.is_some_and(|first| seen[first..].iter().all(|(_, value)| bad(value)))
            }
        }
    };
    drill.abort.iter().find(holds).map(|abort| words::abort(drill, abort))
}

/// Whether the metric of a plan, if it has one, says that all is well in an interval.
pub(crate) fn metric_is_well(drill: &Drill, series: &Series, poll: &Poll, tick: usize) -> bool {
    let Some(watched) = drill.recovered.metric else { return true };
    let end = series.width() * (tick as u32 + 1);
    poll.at(watched.metric, end).is_some_and(|value| watched.limit.holds(value))
}

/// What a plan calls well.
pub(crate) fn rule(drill: &Drill) -> Rule {
    let hold = duration(drill.recovered.hold).as_secs_f64();
    let width = duration(drill.interval).as_secs_f64().max(1e-3);
    Rule { goodput: drill.recovered.goodput, hold: (hold / width).round().max(1.0) as usize }
}

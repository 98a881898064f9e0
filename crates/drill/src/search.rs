//! Hidden capacity of the real thing: the highest load from which it recovers, at a trigger; or
//! the longest trigger from which it recovers, at a load.
//!
//! A system that can be metastable has a memory: after a probe that brought it down, the next
//! would find it down already, and the search would report less than there is. So between two
//! probes it is drained, by taking off the load or by a lever, and must serve a light load well
//! before the next one. One that stays bad without load is said to, and the search ends.

use std::time::Duration;

use damper_control::lever::Action;
use damper_report::result::drill::{LiveHidden, Probe};
use damper_system::{Pull, Size};
use tokio::time::Instant;

use crate::bisect::Bisection;
use crate::lever;
use crate::live::{Live, Setup, duration};
use crate::run::{Drilling, Error, Poll, aborts, can_be_pulled, metric_is_well};
use crate::series::sum;
use crate::trigger::{self, Script};
use crate::undo::Undo;

/// What a search found.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The interval and every probe.
    pub hidden: LiveHidden,
    /// What was tried, to go on with.
    pub state: Bisection,
    /// Somebody stopped it.
    pub interrupted: bool,
    /// Why it could not go on.
    pub failed: Option<String>,
}

/// Why a probe has no answer.
enum Cut {
    Interrupted,
    /// An abort condition, or a bound.
    Ends(String),
}

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(50);

/// Searches, from where `state` is if there is one. `keep` hears of each answer, so that it can be
/// written down.
///
/// # Errors
/// It could not begin; nothing was sent, and nothing was started.
pub async fn search(
    drilling: Drilling<'_>,
    state: Option<Bisection>,
    keep: &dyn Fn(&Bisection),
) -> Result<Searched, Error> {
    let drill = drilling.drill;
    can_be_pulled(drill, drilling.places)?;
    let setup = Setup::new(drill, drilling.system, drilling.places, drilling.consent);
    let setup = setup.await.map_err(Error::Load)?;
    let s = &drill.search;
    let Some(cause) = drill.triggers.get(s.trigger.unwrap_or(0)) else {
        return Err(Error::Load("the plan has no trigger to search with".to_owned()));
    };
    let (to, at) = match s.of {
        Size::Load => (s.to.unwrap_or(setup.rate), s.lasts.as_secs_f64()),
        Size::Trigger => (s.to.unwrap_or(30.0 * drill.slower), setup.rate),
    };
    // A load that changes is higher at its peak than what it is called by, its mean.
    let above = if setup.rate > 0.0 { setup.peak / setup.rate } else { 1.0 };
    let highest = above * if s.of == Size::Load { to } else { setup.rate };
    if highest > drill.bounds.rate {
        return Err(Error::TooFast { peak: highest, bound: drill.bounds.rate });
    }
    let script = trigger::script(drill, cause, drilling.places);
    let fresh = || Bisection::new(s.from.unwrap_or(to / 10.0), to, s.resolution, s.repeats);
    let state = state.unwrap_or_else(fresh);
    let (name, place) = (cause.name.clone(), trigger::place(cause).cloned());
    let (poll, begun) = (None, Instant::now());
    let with = drilling;
    let mut hunt = Hunt { with, setup, script, place, name, poll, draws: 0, sent: 0, begun };
    Ok(hunt.all(state, at, keep).await)
}

struct Hunt<'a> {
    with: Drilling<'a>,
    setup: Setup,
    script: Script,
    /// Where it is, if that is an emulation.
    place: Option<damper_system::Place>,
    /// The name of the trigger.
    name: String,
    /// What is looked at besides replies, while there is load.
    poll: Option<Poll>,
    /// Loads so far.
    draws: u64,
    /// Attempts so far.
    sent: u64,
    begun: Instant,
}

impl Hunt<'_> {
    async fn all(&mut self, mut state: Bisection, at: f64, keep: &dyn Fn(&Bisection)) -> Searched {
        let mut probes = Vec::new();
        let (mut interrupted, mut ended_early, mut failed) = (false, None, None);
        // Is it well to begin with?
        let mut well = self.reset().await.map(|_| ());
        while let (Ok(()), Some(value)) = (&well, state.next()) {
            (self.with.say)(&format!("trying {}", self.value(value)));
            let probe = match self.probe(value).await {
                Ok(mut probe) => match self.reset().await {
                    Ok(drain) => {
                        probe.drain_s = drain.as_secs_f64();
                        probe
                    }
                    Err(cut) => {
                        // What was seen counts all the same.
                        well = Err(cut);
                        probe
                    }
                },
                Err(cut) => {
                    well = Err(cut);
                    break;
                }
            };
            (self.with.say)(&format!("{}: {}", self.value(value), probe.what));
            state.tell(value, probe.healed);
            keep(&state);
            probes.push(probe);
        }
        match well {
            Ok(()) => {}
            Err(Cut::Interrupted) => {
                interrupted = true;
                ended_early = Some("somebody stopped it".to_owned());
            }
            Err(Cut::Ends(why)) => ended_early = Some(why),
        }
        if let Err(why) = self.undo_all().await {
            failed = Some(why);
        }
        let hidden = self.found(&state, at, probes, ended_early);
        Searched { hidden, state, interrupted, failed }
    }

    fn value(&self, value: f64) -> String {
        match self.with.drill.search.of {
            Size::Load => format!("{value:.1}/s"),
            Size::Trigger => format!("{value:.2} s"),
        }
    }

    fn found(
        &self,
        state: &Bisection,
        at: f64,
        probes: Vec<Probe>,
        ended_early: Option<String>,
    ) -> LiveHidden {
        let (of, unit) = match self.with.drill.search.of {
            Size::Load => ("load", "per second"),
            Size::Trigger => ("trigger", "seconds"),
        };
        let count = |v: Option<f64>, healed: bool| {
            let same = |t: &&crate::Tried| Some(t.value) == v && t.healed == healed;
            state.tried.iter().filter(same).count() as u32
        };
        LiveHidden {
            of: of.to_owned(),
            unit: unit.to_owned(),
            at,
            low: state.low(),
            low_healed: count(state.low(), true),
            high: state.high(),
            high_failed: count(state.high(), false),
            estimate: state.estimate(),
            open: state.is_open(),
            bound: state.to,
            probes,
            ended_early,
        }
    }

    /// Load, trigger, and whether it recovers.
    async fn probe(&mut self, value: f64) -> Result<Probe, Cut> {
        let s = self.with.drill.search;
        let (share, lasts) = match s.of {
            Size::Load => (value / self.setup.rate, duration(s.lasts)),
            Size::Trigger => (1.0, Duration::from_secs_f64(value)),
        };
        let rule = crate::run::rule(self.with.drill);
        let mut live = self.load(0.0)?;
        self.bring(&mut live, share, duration(s.ramp)).await?;
        let up = live.series.index(live.series.now()) + 1;
        self.pass(&live, duration(s.steady), |_| false).await?;
        // Replies are on their way; what was due a while ago is known.
        let settle = live.series.width() * 2;
        self.pass(&live, settle, |_| false).await?;
        let ticks = live.series.ticks();
        let last = ticks.len().saturating_sub(2).max(up);
        let probe = Probe { value, ..Probe::default() };
        if ticks.get(up..last).and_then(|ticks| rule.is_well(ticks)) != Some(true) {
            let (attempts, withheld) = self.off(live).await;
            let what = "it does not serve this load, with or without the trigger".to_owned();
            return Ok(Probe { what, attempts, withheld, ..probe });
        }
        self.start_trigger().await?;
        let waited = self.pass(&live, lasts, |_| false).await;
        let end = live.series.now();
        self.stop_trigger().await?;
        waited?;
        let from = live.series.index(end);
        let well = |live: &Live| self.recovered(live, from);
        let healed = self.pass(&live, duration(s.watch), |live| well(live).is_some()).await?;
        let recovery = well(&live).map(|tick| {
            (live.series.width().as_secs_f64() * tick as f64 - end.as_secs_f64()).max(0.0)
        });
        let after = sum(&live.series.ticks()[from..], None);
        let (attempts, withheld) = self.off(live).await;
        if healed && withheld > 0 {
            return Err(Cut::Ends(format!(
                "at {} it recovered only with {withheld} retries that `bounds` held back, which \
                 says nothing: raise `bounds.rate`, or lower `headroom.to`",
                self.value(value)
            )));
        }
        let what = match recovery {
            Some(s) => format!("recovered after {s:.1} s"),
            None => format!(
                "did not recover within {}: {} of {} requests were served well",
                s.watch, after.good_of_due, after.due
            ),
        };
        Ok(Probe { healed, recovery_s: recovery, what, attempts, withheld, ..probe })
    }

    /// Drains, and makes sure that a light load is served well; how long that took.
    async fn reset(&mut self) -> Result<Duration, Cut> {
        let (drill, begun) = (self.with.drill, Instant::now());
        let s = drill.search;
        if let Some(index) = s.lever {
            self.pull(index, Action::Pause).await?;
        }
        let base =
            if s.of == Size::Load { s.to.unwrap_or(self.setup.rate) } else { self.setup.rate };
        // At least so much that a hold time has some requests to judge by.
        let least = 4.0 / duration(drill.recovered.hold).as_secs_f64();
        let light = (s.light * base).max(least) / self.setup.rate;
        let most = duration(s.drain);
        if let Some(index) = s.lever {
            tokio::time::sleep(duration(drill.recovered.hold)).await;
            self.pull(index, Action::Open).await?;
        }
        let live = self.load(light)?;
        let well = self.pass(&live, most, |live| self.recovered(live, 0).is_some()).await?;
        self.off(live).await;
        if well {
            return Ok(begun.elapsed());
        }
        Err(Cut::Ends(format!(
            "it stays bad: a light load of {:.1}/s was not served well within {} after the load \
             was taken off",
            light * self.setup.rate,
            s.drain
        )))
    }

    fn load(&mut self, share: f64) -> Result<Live, Cut> {
        let b = &self.with.drill.bounds;
        let left = b.requests.saturating_sub(self.sent);
        let time = duration(b.time).saturating_sub(self.begun.elapsed());
        if left == 0 || time.is_zero() {
            return Err(Cut::Ends("a bound on requests or time was reached".to_owned()));
        }
        self.setup.limit(left, time);
        // The same arrivals every time would make one probe of many.
        self.draws += 1;
        self.setup.reseed(self.draws);
        let live = self.setup.start(share);
        // Its clock is that of the series.
        self.poll = Some(Poll::start(self.with.drill, self.with.system, self.with.places));
        Ok(live)
    }

    /// Takes the load off, and waits for what is under way: attempts, and retries that the bounds
    /// held back.
    async fn off(&mut self, live: Live) -> (u64, u64) {
        let series = live.series.clone();
        // Only counts matter here.
        let withheld = live.end().await.map_or(0, |tally| tally.withheld);
        let attempts = sum(&series.ticks(), None).attempts;
        self.sent += attempts;
        (attempts, withheld)
    }

    async fn bring(&self, live: &mut Live, share: f64, over: Duration) -> Result<(), Cut> {
        let mut stop = self.with.stop.clone();
        tokio::select! {
            () = live.bring(share, over) => Ok(()),
            Ok(_) = stop.wait_for(|stop| *stop) => Err(Cut::Interrupted),
        }
    }

    async fn pass(
        &self,
        live: &Live,
        most: Duration,
        mut until: impl FnMut(&Live) -> bool,
    ) -> Result<bool, Cut> {
        let end = Instant::now() + most;
        let mut stop = self.with.stop.clone();
        loop {
            if *stop.borrow() {
                return Err(Cut::Interrupted);
            }
            if live.has_ended() {
                return Err(Cut::Ends("a bound on requests or time was reached".to_owned()));
            }
            if let Some(why) = self.aborts(live) {
                return Err(Cut::Ends(why));
            }
            if until(live) {
                return Ok(true);
            }
            let now = Instant::now();
            if now >= end {
                return Ok(false);
            }
            tokio::select! {
                () = tokio::time::sleep_until(end.min(now + LOOK)) => {}
                Ok(()) = stop.changed() => {}
            }
        }
    }

    /// An abort condition that holds.
    fn aborts(&self, live: &Live) -> Option<String> {
        let found = aborts(self.with.drill, &live.series, self.poll.as_ref()?)?;
        Some(format!("an abort condition: {found}"))
    }

    /// The first interval of a hold time in which all was well, the metric of the plan included.
    fn recovered(&self, live: &Live, from: usize) -> Option<usize> {
        let drill = self.with.drill;
        let also =
            |tick| self.poll.as_ref().is_some_and(|p| metric_is_well(drill, &live.series, p, tick));
        crate::run::rule(drill).recovered(&live.series.complete(), from, &also)
    }

    async fn start_trigger(&mut self) -> Result<(), Cut> {
        let id = format!("trigger {}", self.name);
        let what = format!("{id} is stopped");
        let (acts, checks) = (self.script.stop.clone(), self.script.checks.clone());
        self.script.may_start().await.map_err(Cut::Ends)?;
        let undo = Undo::new(id, what, acts, checks).on(self.place.as_ref(), self.with.places);
        let armed = self.with.ledger.arm(undo);
        armed.map_err(|error| Cut::Ends(error.to_string()))?;
        for act in &self.script.start {
            self.with.ledger.carry_out(act).await.map_err(Cut::Ends)?;
        }
        Ok(())
    }

    async fn stop_trigger(&mut self) -> Result<(), Cut> {
        self.with.ledger.undo(&format!("trigger {}", self.name)).await.map_err(Cut::Ends)
    }

    async fn pull(&mut self, index: usize, action: Action) -> Result<(), Cut> {
        let (drill, places) = (self.with.drill, self.with.places);
        let Some(of) = drill.levers.get(index) else { return Ok(()) };
        let ends = |error: std::io::Error| Cut::Ends(error.to_string());
        let pull = Pull { action, class: None };
        let open = lever::opens(&pull);
        if let Some(undo) = lever::reopen(drill, index, None, places).filter(|_| !open) {
            self.with.ledger.arm(undo).map_err(ends)?;
        }
        for act in lever::acts(drill, of, &pull, places, "drained between two probes") {
            self.with.ledger.carry_out(&act).await.map_err(Cut::Ends)?;
        }
        if open {
            for id in lever::opened(drill, of, &pull) {
                self.with.ledger.disarm(&id).map_err(ends)?;
            }
        }
        Ok(())
    }

    async fn undo_all(&mut self) -> Result<(), String> {
        let mut failed = Vec::new();
        for undo in self.with.ledger.left().to_vec().into_iter().rev() {
            if let Err(why) = self.with.ledger.undo(&undo.id).await {
                failed.push(format!("{}: {why}", undo.id));
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(format!("not undone, see `damper drill --lift`: {}", failed.join("; ")))
    }
}

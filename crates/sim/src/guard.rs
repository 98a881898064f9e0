//! The controls at the door of a service: admission, concurrency limit, the word OVERLOADED,
//! the operator's lever.
//!
//! Each instance has its own admission rule and limit, as processes have. The lever is one for
//! all instances.

use damper_control::admission::Busy;
use damper_control::guard::{self, Turned, Utilisation};
use damper_control::lever::{Change, Lever};
use damper_control::{Nanos, Outcome, RetryBudget as _, Who};
use damper_system::model::{Pull, Service};

use crate::slab::NONE;
use crate::world::{Event, World};

/// What decides at one instance.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    controls: guard::Guard,
    utilisation: Utilisation,
}

/// An attempt that a guard has let in.
pub(crate) use damper_control::guard::Guarded;

/// The operator of a service and the lever.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    lever: Lever,
    pulled: usize,
}

impl Guard {
    /// `None`: nothing but room decides. `tells`: somebody listens to the word OVERLOADED.
    pub(crate) fn new(service: &Service, tells: bool) -> Option<Self> {
        let controls = service.guard(tells);
        let there = controls.is_there();
        there.then(|| Self { controls, utilisation: Utilisation::default() })
    }

    /// The integral of busy workers, which was `area`, is counted from zero again.
    pub(crate) fn area_starts_over(&mut self, area: f64) {
        self.utilisation.starts_over(area);
    }
}

impl World<'_> {
    /// What an instance knows about itself.
    fn busy(&mut self, s: usize, station: u32) -> Busy {
        self.account_busy(station as usize);
        let now = self.now;
        let plan = &self.plan.services[s];
        let st = &mut self.stations[station as usize];
        let (area, workers) = (st.busy_area, f64::from(st.workers.max(1)));
        let utilisation =
            st.guard.as_mut().map_or(0.0, |g| g.utilisation.at(Nanos(now), area, workers));
        Busy {
            waiting: st.waiting,
            queue_limit: plan.queue,
            working: st.busy,
            workers: st.workers,
            utilisation,
        }
    }

    /// Asks the controls of an instance; the attempt's record if they let it in.
    pub(crate) fn ask_guard(&mut self, s: usize, station: u32, who: Who) -> Result<u32, Outcome> {
        let busy = self.busy(s, station);
        let now = Nanos(self.now);
        let Some(guard) = &mut self.stations[station as usize].guard else {
            return Ok(NONE);
        };
        match guard.controls.ask(now, who, &busy, &mut self.control_stream.0) {
            Ok(guarded) => Ok(self.guarded.insert(guarded)),
            Err(turned) => {
                let stats = &mut self.service_stats[s];
                let count = match turned {
                    Turned::Shed(_) => &mut stats.refused_admission,
                    Turned::Limited(_) => &mut stats.refused_concurrency,
                };
                *count += u64::from(self.measuring);
                Err(turned.outcome())
            }
        }
    }

    /// A worker takes up a guarded attempt.
    pub(crate) fn guard_taken(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        let (guard, station, who, waited) = (a.guard, a.station, a.who(), self.now - a.since);
        let s = self.plan.nodes[a.node as usize].service as usize;
        let busy = self.busy(s, station);
        if let Some(g) = &mut self.stations[station as usize].guard {
            let guarded = &mut self.guarded[guard];
            g.controls.taken(Nanos(self.now), who, guarded, Nanos(waited), &busy);
        }
    }

    /// A guarded attempt is no more; `NONE`: it was not guarded.
    pub(crate) fn guard_ended(
        &mut self,
        guard: u32,
        station: u32,
        who: Who,
        outcome: Option<Outcome>,
    ) {
        if guard == NONE {
            return;
        }
        let guarded = self.guarded[guard];
        self.guarded.free(guard);
        if let Some(g) = &mut self.stations[station as usize].guard {
            let rng = &mut self.control_stream.0;
            g.controls.ended(Nanos(self.now), who, guarded, outcome, rng);
        }
    }

    /// The highest rank that an instance lets in now, if it tells.
    pub(crate) fn threshold(&self, station: u32) -> Option<u32> {
        let guard = self.stations[station as usize].guard.as_ref()?;
        guard.controls.threshold()
    }

    /// Whether an instance of a service says that it, or something below it, is overloaded.
    pub(crate) fn says_overloaded(&self, s: usize, station: u32) -> bool {
        let now = Nanos(self.now);
        let below = &self.plan.services[s].calls_over;
        let guard = self.stations[station as usize].guard.as_ref();
        guard.is_some_and(|g| g.controls.is_overloaded())
            || below.iter().any(|edge| self.budgets[*edge as usize].passes_on(now))
    }

    pub(crate) fn lever_lets_through(&mut self, s: usize, who: Who) -> bool {
        let now = Nanos(self.now);
        self.services[s].operator.as_mut().is_none_or(|o| o.lever.admit(now, who.class).is_ok())
    }

    /// Puts the next pull of a service's lever into the calendar.
    pub(crate) fn schedule_pull(&mut self, s: usize) {
        let Some(operator) = &self.services[s].operator else {
            return;
        };
        if let Some(pull) = self.plan.system.services[s].lever.get(operator.pulled) {
            let at = self.conditions.trigger_at.saturating_add(pull.after.0).max(self.now);
            self.calendar.push(at, Event::Lever(s as u32));
        }
    }

    pub(crate) fn pull_lever(&mut self, s: usize) {
        let now = Nanos(self.now);
        if let Some(operator) = &mut self.services[s].operator
            && let Some(pull) = self.plan.system.services[s].lever.get(operator.pulled)
        {
            operator.pulled += 1;
            operator.pull(now, pull);
        }
        self.schedule_pull(s);
    }
}

impl Operator {
    pub(crate) fn new() -> Self {
        Self { lever: Lever::new(), pulled: 0 }
    }

    fn pull(&mut self, now: Nanos, pull: &Pull) {
        let Pull { classes, action, .. } = *pull;
        // What the reader has let through is in range; a system made by hand may not be.
        let _ = self
            .lever
            .pull(now, Change { action, classes, who: "operator", why: "the system file" });
    }
}

//! The controls at the door of a service: admission, concurrency limit, the word OVERLOADED,
//! the operator's lever.
//!
//! Each instance has its own admission rule and limit, as processes have. The lever is one for
//! all instances.

use damper_control::admission::{Admission, AdmissionRule as _, Busy};
use damper_control::concurrency::{Limiter, Permit, Shares};
use damper_control::lever::{Change, Lever};
use damper_control::overload::Detector;
use damper_control::who::CLASSES;
use damper_control::{Nanos, Outcome, RetryBudget as _, Who};
use damper_system::model::{Pull, Service};

use crate::slab::NONE;
use crate::world::{Event, World};

/// Time constant of the utilisation that a guard sees.
const SECOND: f64 = 1e9;

/// What decides at one instance.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    admission: Option<Admission>,
    limiter: Option<Limiter>,
    detector: Option<Detector>,
    /// Smoothed share of busy workers, when it was brought up to date, and the integral then.
    utilisation: f64,
    seen: u64,
    area: f64,
}

/// An attempt that a guard has let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded {
    admitted: u64,
    queued: u64,
    permit: Option<Permit>,
}

/// The operator of a service and the lever.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    lever: Lever,
    pulled: usize,
}

impl Guard {
    /// `None`: nothing but room decides. `tells`: somebody listens to the word OVERLOADED.
    pub(crate) fn new(service: &Service, tells: bool) -> Option<Self> {
        let shares = service.shares.as_ref().map(|given| {
            let mut shares: Shares = [0.0; CLASSES];
            shares.iter_mut().zip(given).for_each(|(share, given)| *share = *given);
            shares
        });
        let limit = service.concurrency.as_ref().map(|spec| spec.initial.clone());
        let detector = service.overloaded.filter(|_| tells && service.workers.is_some());
        let guard = Self {
            admission: service.admission.as_ref().map(|spec| spec.initial.clone()),
            limiter: limit.and_then(|limit| Limiter::try_new(limit, shares)),
            detector: detector
                .and_then(|d| Detector::try_new(d.queue * 100.0, d.cpu * 100.0, d.hold)),
            utilisation: 0.0,
            seen: 0,
            area: 0.0,
        };
        let any = guard.admission.is_some() || guard.limiter.is_some() || guard.detector.is_some();
        any.then_some(guard)
    }

    /// The integral of busy workers, which was `area`, is counted from zero again.
    pub(crate) fn area_starts_over(&mut self, area: f64) {
        self.area -= area;
    }

    /// Whether its instance found itself overloaded when it last looked.
    fn is_overloaded(&self) -> bool {
        self.detector.as_ref().is_some_and(Detector::is_overloaded)
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
        let utilisation = st.guard.as_mut().map_or(0.0, |g| {
            let passed = (now - g.seen) as f64;
            if passed > 0.0 {
                let share = ((area - g.area) / (passed * workers)).min(1.0);
                g.utilisation += (1.0 - libm::exp(-passed / SECOND)) * (share - g.utilisation);
                (g.seen, g.area) = (now, area);
            }
            g.utilisation
        });
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
        if let Some(detector) = &mut guard.detector {
            let limit = busy.queue_limit;
            detector.look(now, busy.waiting, limit, busy.utilisation);
        }
        if let Some(rule) = &mut guard.admission
            && rule.admit(now, who, &busy, &mut self.control_stream.0).is_err()
        {
            self.service_stats[s].refused_admission += u64::from(self.measuring);
            return Err(Outcome::Shed);
        }
        let permit = match guard.limiter.as_mut().map(|l| l.acquire(now, who.class)) {
            None => None,
            Some(Ok(permit)) => Some(permit),
            Some(Err(_)) => {
                // The rule has let in somebody whom there is no place for.
                if let Some(rule) = &mut guard.admission {
                    rule.settle(now, who, Nanos::ZERO, None);
                }
                self.service_stats[s].refused_concurrency += u64::from(self.measuring);
                return Err(Outcome::Rejected);
            }
        };
        Ok(self.guarded.insert(Guarded { admitted: self.now, queued: 0, permit }))
    }

    /// A worker takes up a guarded attempt.
    pub(crate) fn guard_taken(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        let (guard, station, who, waited) = (a.guard, a.station, a.who(), self.now - a.since);
        let s = self.plan.nodes[a.node as usize].service as usize;
        self.guarded[guard].queued = waited;
        let busy = self.busy(s, station);
        let rule =
            self.stations[station as usize].guard.as_mut().and_then(|g| g.admission.as_mut());
        if let Some(rule) = rule {
            rule.taken(Nanos(self.now), who, Nanos(waited), &busy);
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
        let Guarded { admitted, queued, permit } = self.guarded[guard];
        self.guarded.free(guard);
        let now = Nanos(self.now);
        if let Some(g) = &mut self.stations[station as usize].guard {
            if let Some(rule) = &mut g.admission {
                rule.settle(now, who, now.since(Nanos(admitted)), outcome);
            }
            if let (Some(limiter), Some(permit)) = (&mut g.limiter, permit) {
                limiter.release(now, permit, Nanos(queued), outcome, &mut self.control_stream.0);
            }
        }
    }

    /// The highest rank that an instance lets in now, if it tells.
    pub(crate) fn threshold(&self, station: u32) -> Option<u32> {
        let guard = self.stations[station as usize].guard.as_ref()?;
        guard.admission.as_ref()?.threshold()
    }

    /// Whether an instance of a service says that it, or something below it, is overloaded.
    pub(crate) fn says_overloaded(&self, s: usize, station: u32) -> bool {
        let now = Nanos(self.now);
        let below = &self.plan.services[s].calls_over;
        let guard = self.stations[station as usize].guard.as_ref();
        guard.is_some_and(|g| g.is_overloaded())
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

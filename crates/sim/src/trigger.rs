//! Triggers: what goes wrong, and the way back.
//!
//! Every change recomputes the state of all services from the actions that are active, so
//! overlapping actions need no bookkeeping of their own.

use damper_system::model::{ActionKind, ServiceId, Spike};

use crate::arrivals::ArrivalProcess;
use crate::mechanisms::Due;
use crate::plan::Plan;
use crate::run::Conditions;
use crate::world::{Event, World};

/// When the actions of the trigger begin and end.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// (start, end, action), by index into the trigger's actions.
    spans: Vec<(u64, u64, usize)>,
    /// Instants at which something changes, in order.
    changes: Vec<u64>,
    upcoming: usize,
}

impl Schedule {
    pub(crate) fn new(plan: &Plan, conditions: &Conditions) -> Self {
        let mut spans = Vec::new();
        if let Some(trigger) = conditions.trigger.and_then(|t| plan.system.triggers.get(t)) {
            for (i, action) in trigger.actions.iter().enumerate() {
                let start = conditions.trigger_at.saturating_add(action.after.0);
                spans.push((start, start.saturating_add(action.lasts.0), i));
            }
        }
        let mut changes: Vec<u64> = spans.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        changes.sort_unstable();
        changes.dedup();
        Self { spans, changes, upcoming: 0 }
    }

    pub(crate) fn next(&self) -> Option<u64> {
        self.changes.get(self.upcoming).copied()
    }
}

impl World<'_> {
    pub(crate) fn trigger_changes(&mut self) {
        self.trigger.upcoming += 1;
        if let Some(at) = self.trigger.next() {
            self.calendar.push(at, Event::Trigger);
        }
        let Some(trigger) = self.conditions.trigger.and_then(|t| self.plan.system.triggers.get(t))
        else {
            return;
        };
        let now = self.now;
        let spans = self.trigger.spans.clone();
        let active: Vec<&ActionKind> = spans
            .iter()
            .filter(|(start, end, _)| *start <= now && now < *end)
            .map(|(_, _, i)| &trigger.actions[*i].kind)
            .collect();
        for (start, _, i) in &spans {
            if let ActionKind::CacheFlush { caches } = &trigger.actions[*i].kind
                && *start == now
            {
                for cache in caches {
                    self.caches[cache.0 as usize].flush();
                }
            }
            if let ActionKind::Restart { services, gap } = &trigger.actions[*i].kind
                && *start == now
            {
                self.restart_all(services, gap.0);
            }
        }
        self.set_spikes(&active);
        for s in 0..self.services.len() {
            self.set_service(s, &active);
        }
    }

    /// Those that are there when it begins, one after the other.
    fn restart_all(&mut self, services: &[ServiceId], gap: u64) {
        for s in services {
            let s = s.0 as usize;
            let plan = &self.plan.services[s];
            let there = (0..plan.instances).filter(|i| self.is_there(s, *i));
            let stations: Vec<u32> = there.map(|i| plan.first_station + i).collect();
            for (nth, station) in stations.into_iter().enumerate() {
                let at = self.now.saturating_add(gap.saturating_mul(nth as u64));
                self.wake_at(at, Due::Restart, station);
            }
        }
    }

    fn set_spikes(&mut self, active: &[&ActionKind]) {
        for class in 0..self.arrivals.len() {
            let (mut rate, mut factor) = (None, 1.0);
            for kind in active {
                let ActionKind::LoadSpike { class: which, height } = kind else {
                    continue;
                };
                let share = match which {
                    Some(c) if usize::from(*c) != class => continue,
                    Some(_) => 1.0,
                    None => self.share(class),
                };
                match height {
                    Spike::Factor(f) => factor *= *f,
                    // Where several set it, the highest stands.
                    Spike::Rate(r) => rate = Some((r * share).max(rate.unwrap_or(0.0))),
                }
            }
            self.arrivals[class].set_spike(self.now, rate, factor);
            self.reschedule_arrival(class);
        }
    }

    /// A class's share of the load now; of the mean load where there is none now, and an even one
    /// where there never is.
    fn share(&self, class: usize) -> f64 {
        let of = |rates: Vec<f64>| {
            let total: f64 = rates.iter().sum();
            (total > 0.0).then(|| rates[class] / total)
        };
        of(self.arrivals.iter().map(|a| a.base_rate(self.now)).collect())
            .or_else(|| of(self.arrivals.iter().map(ArrivalProcess::mean_rate).collect()))
            .unwrap_or(1.0 / self.arrivals.len() as f64)
    }

    fn set_service(&mut self, s: usize, active: &[&ActionKind]) {
        let id = ServiceId(s as u32);
        let plan = &self.plan.services[s];
        let floor = if plan.limited { self.conditions.error_floor } else { 0.0 };
        let (mut share, mut outage) = (1.0, false);
        let state = &mut self.services[s];
        (state.slowdown, state.failure, state.latency, state.refuse) =
            (1.0, plan.failure.max(floor), 0, false);
        for kind in active {
            match kind {
                ActionKind::Outage { services, refuse } if services.contains(&id) => {
                    outage = true;
                    state.refuse |= *refuse;
                }
                ActionKind::Slowdown { services, factor } if services.contains(&id) => {
                    state.slowdown *= factor;
                }
                ActionKind::CapacityLoss { services, share: lost } if services.contains(&id) => {
                    share *= 1.0 - lost;
                }
                ActionKind::ErrorRate { services, rate } if services.contains(&id) => {
                    state.failure = state.failure.max(*rate);
                }
                ActionKind::AddedLatency { services, latency } if services.contains(&id) => {
                    state.latency = state.latency.saturating_add(latency.0);
                }
                _ => {}
            }
        }
        state.left = match plan.workers {
            _ if outage => 0.0,
            // Of workers without limit no share can be lost.
            u32::MAX => 1.0,
            _ => share,
        };
        if let (Some(bucket), Some(limit)) =
            (&mut state.limit, self.plan.system.services[s].rate_limit)
        {
            bucket.set_rate(damper_control::Nanos(self.now), limit.rate * share);
        }
        self.spread(s);
    }

    /// Spreads what a trigger leaves of the workers over the instances that there are: with one
    /// worker each, whole instances go.
    pub(crate) fn spread(&mut self, s: usize) {
        let plan = &self.plan.services[s];
        let share = self.services[s].left;
        let there = (0..plan.instances).filter(|i| self.is_there(s, *i)).count().max(1) as u64;
        let (left, more) = match plan.workers {
            _ if share <= 0.0 => (0, 0),
            u32::MAX => (u32::MAX, 0),
            w => {
                let left = ((u64::from(w) * there) as f64 * share + 0.5) as u64;
                ((left / there) as u32, left % there)
            }
        };
        let mut before = 0;
        for i in 0..plan.instances {
            let there = self.is_there(s, i);
            // One that was taken away works off what it has as if it were among the first.
            let one_more = more > 0 && (!there || before < more);
            self.allot(plan.first_station + i, left + u32::from(one_more));
            before += u64::from(there);
        }
    }
}

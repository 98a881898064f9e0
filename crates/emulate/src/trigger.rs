//! Triggers on command: what the triggers that are under way make of each service and of the load.
//!
//! Every change recomputes everything from what is active, as in the simulator, so that triggers
//! that overlap need no bookkeeping.

use std::collections::BTreeMap;

use damper_control::Nanos;
use damper_system::model::{Action, ActionKind, Load, ServiceId, Spike, System};
use serde::{Deserialize, Serialize};

/// What a trigger makes of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Service times are multiplied by this.
    pub slowdown: f64,
    /// Attempts fail at least with this probability.
    pub failure: f64,
    /// Attempts reach it later by this.
    pub latency_ns: u64,
    /// This share of workers and rate limit is left.
    pub share: f64,
    /// No worker works.
    pub outage: bool,
    /// It rejects everything.
    pub refuse: bool,
}

impl Default for Condition {
    /// All is well.
    fn default() -> Self {
        Self {
            slowdown: 1.0,
            failure: 0.0,
            latency_ns: 0,
            share: 1.0,
            outage: false,
            refuse: false,
        }
    }
}

/// What a trigger makes of the load of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surge {
    /// Times the load.
    pub factor: f64,
    /// Requests per second in place of the load.
    pub rate: Option<f64>,
}

/// Triggers that were started, by index, and when.
#[derive(Clone, Debug, Default)]
pub struct Active(BTreeMap<usize, Nanos>);

impl Active {
    /// Starts a trigger, or starts it anew.
    pub fn start(&mut self, trigger: usize, now: Nanos) {
        self.0.insert(trigger, now);
    }

    /// Stops one before its time; whether it was under way.
    pub fn stop(&mut self, trigger: usize) -> bool {
        self.0.remove(&trigger).is_some()
    }

    /// Forgets those that are over.
    pub fn expire(&mut self, system: &System, now: Nanos) {
        self.0.retain(|trigger, start| {
            let length = system
                .triggers
                .get(*trigger)
                .map_or(Nanos::ZERO, damper_system::model::Trigger::length);
            now < *start + length
        });
    }

    /// Triggers under way, with their starts.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Nanos)> {
        self.0.iter().map(|(trigger, start)| (*trigger, *start))
    }

    /// The next instant at which something changes.
    #[must_use]
    pub fn next_change(&self, system: &System, now: Nanos) -> Option<Nanos> {
        self.iter()
            .flat_map(|(trigger, start)| {
                let actions = system.triggers.get(trigger).map_or(&[][..], |t| &t.actions);
                actions.iter().flat_map(move |a| {
                    let begin = start + a.after;
                    [begin, begin + a.lasts]
                })
            })
            .filter(|at| *at > now)
            .min()
    }

    fn actions<'a>(
        &'a self,
        system: &'a System,
        now: Nanos,
    ) -> impl Iterator<Item = &'a ActionKind> {
        let under_way = move |start: Nanos, action: &Action| {
            let begin = start + action.after;
            begin <= now && now < begin + action.lasts
        };
        self.iter().flat_map(move |(trigger, start)| {
            let actions = system.triggers.get(trigger).map_or(&[][..], |t| &t.actions);
            actions.iter().filter(move |a| under_way(start, a)).map(|a| &a.kind)
        })
    }

    /// What they make of a service.
    #[must_use]
    pub fn condition(&self, system: &System, service: ServiceId, now: Nanos) -> Condition {
        let mut c = Condition::default();
        for kind in self.actions(system, now) {
            match kind {
                ActionKind::Outage { services, refuse } if services.contains(&service) => {
                    c.outage = true;
                    c.refuse |= *refuse;
                }
                ActionKind::Slowdown { services, factor } if services.contains(&service) => {
                    c.slowdown *= factor;
                }
                ActionKind::CapacityLoss { services, share } if services.contains(&service) => {
                    c.share *= 1.0 - share;
                }
                ActionKind::ErrorRate { services, rate } if services.contains(&service) => {
                    c.failure = c.failure.max(*rate);
                }
                ActionKind::AddedLatency { services, latency } if services.contains(&service) => {
                    c.latency_ns = c.latency_ns.saturating_add(latency.0);
                }
                _ => {}
            }
        }
        c
    }

    /// What they make of the load, by class. A height for all classes is shared as the load is.
    #[must_use]
    pub fn surge(&self, system: &System, now: Nanos) -> Vec<Surge> {
        let total = system.total_load();
        let mut surges = vec![Surge { factor: 1.0, rate: None }; system.classes.len()];
        for kind in self.actions(system, now) {
            let ActionKind::LoadSpike { class: which, height } = kind else { continue };
            for (class, surge) in surges.iter_mut().enumerate() {
                if which.is_some_and(|only| usize::from(only) != class) {
                    continue;
                }
                let mean = system.load.get(class).map_or(0.0, Load::mean);
                let share = match which {
                    Some(_) => 1.0,
                    None if total > 0.0 => mean / total,
                    None => 1.0 / system.classes.len() as f64,
                };
                match height {
                    Spike::Factor(factor) => surge.factor *= factor,
                    // Where several set it, the highest stands.
                    Spike::Rate(rate) => {
                        surge.rate = Some((rate * share).max(surge.rate.unwrap_or(0.0)));
                    }
                }
            }
        }
        surges
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    fn system() -> System {
        let text = "
damper: 1
classes: [high, low]
services: {a: {workers: 4, service_time: 1ms}, b: {workers: 1, service_time: 1ms}}
load: {high: 10/s, low: 30/s}
requests: {r: {calls: [a, b]}}
triggers:
  slow: [{slowdown: a, factor: 3, for: 10s}, {error_rate: [a, b], rate: 20%, for: 5s, after: 5s}]
  half: [{capacity_loss: a, share: 50%, for: 4s}, {slowdown: a, factor: 2x, for: 4s}]
  gone: [{outage: b, mode: refuse, for: 1s}]
  spike: [{load_spike: all, rate: 400/s, for: 2s}, {load_spike: low, factor: 3, for: 2s}]
";
        SystemFile::parse("t", text).unwrap().lower().unwrap()
    }

    fn index(system: &System, name: &str) -> usize {
        system.triggers.iter().position(|t| t.name == name).unwrap()
    }

    #[test]
    fn what_overlaps_adds_up_and_ends() {
        let system = system();
        let at = Nanos::from_secs;
        let (a, b) = (ServiceId(0), ServiceId(1));
        let mut active = Active::default();
        active.start(index(&system, "slow"), at(10));
        active.start(index(&system, "half"), at(12));
        assert_eq!(active.condition(&system, a, at(9)), Condition::default());
        let both = active.condition(&system, a, at(15));
        assert_eq!((both.slowdown, both.share, both.failure), (6.0, 0.5, 0.2));
        let later = active.condition(&system, a, at(16));
        assert_eq!((later.slowdown, later.share), (3.0, 1.0), "ends are not part of it");
        assert_eq!(active.condition(&system, b, at(16)).failure, 0.2);
        assert_eq!(active.next_change(&system, at(10)), Some(at(12)));
        assert_eq!(active.next_change(&system, at(16)), Some(at(20)));
        active.expire(&system, at(16));
        assert_eq!(active.iter().count(), 1);
        assert!(active.stop(index(&system, "slow")) && !active.stop(index(&system, "slow")));
        assert_eq!(active.next_change(&system, at(16)), None);
    }

    #[test]
    fn refusing_is_an_outage() {
        let system = system();
        let mut active = Active::default();
        active.start(index(&system, "gone"), Nanos::ZERO);
        let c = active.condition(&system, ServiceId(1), Nanos::ZERO);
        assert!(c.refuse && c.outage);
        assert_eq!(active.condition(&system, ServiceId(0), Nanos::ZERO), Condition::default());
    }

    #[test]
    fn a_spike_of_all_is_shared_as_the_load_is() {
        let system = system();
        let mut active = Active::default();
        active.start(index(&system, "spike"), Nanos::ZERO);
        let surges = active.surge(&system, Nanos::ZERO);
        assert_eq!(surges[0], Surge { factor: 1.0, rate: Some(100.0) });
        assert_eq!(surges[1], Surge { factor: 3.0, rate: Some(300.0) });
        assert_eq!(active.surge(&system, Nanos::from_secs(2))[1].rate, None);
    }
}

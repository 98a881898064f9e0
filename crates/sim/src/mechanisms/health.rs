//! Health checks that take instances out of rotation and bring them back.
//!
//! The loop: what is left gets the load of what was taken out, becomes slow, and is taken out. The
//! cure on record is a panic threshold: with too few healthy instances, use them all.

use damper_system::model::Health;

use crate::mechanisms::{Due, down};
use crate::world::World;

impl World<'_> {
    /// The first checks, spread over the interval.
    pub(crate) fn prime_checks(&mut self, s: usize) {
        let Some(Health { interval, .. }) = self.plan.system.services[s].mechanisms.health else {
            return;
        };
        let plan = &self.plan.services[s];
        for i in 0..u64::from(plan.instances) {
            let offset = interval.0 / u64::from(plan.instances) * i;
            self.wake_at(interval.0 + offset, Due::Check, plan.first_station + i as u32);
        }
    }

    pub(crate) fn check_health(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        let Some(health) = self.plan.system.services[s].mechanisms.health else {
            return;
        };
        self.wake_at(self.now.saturating_add(health.interval.0), Due::Check, station);
        // Who starts, or is not there, is not asked: it is out of rotation already, and a failure
        // would only begin its start anew.
        let starting = self.stations[station as usize].down & down::STARTING != 0;
        if starting || self.member(station).is_none_or(|m| m.absent) {
            return;
        }
        let answered = self.answer_time(s, station) <= health.timeout.0;
        let passed = answered && !self.control_stream.chance(self.services[s].failure);
        let now = self.now;
        let Some(member) = self.member(station) else {
            return;
        };
        let (good, bad) = member.streak;
        member.streak = if passed { (good + 1, 0) } else { (0, bad + 1) };
        let (good, bad) = member.streak;
        match member.removed {
            None if bad >= health.unhealthy => {
                member.removed = Some(now.saturating_add(health.removed_for.0));
                self.count(s, |c| &mut c.removed);
                self.rotate(s);
                if health.restart {
                    self.restart(station);
                }
            }
            Some(until) if good >= health.healthy && now >= until => {
                member.removed = None;
                self.count(s, |c| &mut c.returned);
                self.rotate(s);
            }
            _ => {}
        }
    }
}

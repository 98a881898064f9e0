//! Autoscaling: instances that come late, are cold, and are counted by a quota.
//!
//! Desired instances are those that there are, starting ones included, × utilisation of those that
//! serve / target, rounded up, unless the two are within a tenth of each other. Starting ones are
//! taken to be as busy as the others: this is an autoscaler that is not damped. The Horizontal Pod
//! Autoscaler of Kubernetes has this formula, but counts them as idle on the way up, and so wants
//! fewer while instances start. `down_after` is its stabilisation window.

use crate::mechanisms::{Due, down};
use crate::world::World;

/// Nothing is changed while utilisation is this close to its target, as a share of it.
const TOLERANCE: f64 = 0.1;

/// What the autoscaler of a service remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scaling {
    /// Integral of busy workers at its last decision.
    area: f64,
    /// Since when fewer instances would do, and the most that were wanted since.
    fewer: Option<(u64, u32)>,
}

impl Scaling {
    /// The integral of an instance begins anew, from this.
    pub(crate) fn area_starts_over(&mut self, area: f64) {
        self.area -= area;
    }
}

impl World<'_> {
    pub(crate) fn prime_scaling(&mut self, s: usize) {
        if let Some(scale) = self.plan.system.services[s].mechanisms.autoscale {
            self.wake_at(scale.interval.0, Due::Scale, s as u32);
        }
    }

    pub(crate) fn scale(&mut self, s: usize) {
        let Some(scale) = self.plan.system.services[s].mechanisms.autoscale else {
            return;
        };
        self.wake_at(self.now.saturating_add(scale.interval.0), Due::Scale, s as u32);
        let (first, n) = (self.plan.services[s].first_station, self.plan.services[s].instances);
        let mut area = 0.0;
        for station in first..first + n {
            self.account_busy(station as usize);
            area += self.stations[station as usize].busy_area;
        }
        let starting = |i: usize| self.stations[first as usize + i].down & down::STARTING != 0;
        let Some(fleet) = &self.services[s].fleet else {
            return;
        };
        let there = fleet.members.iter().enumerate().filter(|(_, m)| !m.absent);
        let present = there.clone().count() as u32;
        let pending = there.filter(|(i, _)| starting(*i)).count() as u32;
        let serving = present - pending;
        let workers = f64::from(self.plan.services[s].workers) * f64::from(serving.max(1));
        let busy = (area - fleet.scaling.area) / (workers * scale.interval.0 as f64);
        let ratio = busy / scale.target;
        let wanted = if serving == 0 || (ratio - 1.0).abs() <= TOLERANCE {
            present
        } else {
            (f64::from(present) * ratio).ceil().min(f64::from(u32::MAX)) as u32
        };
        let wanted = wanted.clamp(scale.min, scale.max);
        let mut fewer = fleet.scaling.fewer;
        let mut target = present;
        if wanted >= present {
            fewer = None;
            target = present + (wanted - present).min(scale.at_once.saturating_sub(pending));
        } else {
            let (since, most) = fewer.unwrap_or((self.now, wanted));
            fewer = Some((since, most.max(wanted)));
            if self.now - since >= scale.down_after.0 {
                target = most.max(wanted);
                fewer = None;
            }
        }
        if let Some(fleet) = &mut self.services[s].fleet {
            fleet.scaling = Scaling { area, fewer };
        }
        for _ in present..target {
            self.add_instance(s, scale.provision.0);
        }
        for _ in target..present {
            self.take_instance(s);
        }
    }

    fn add_instance(&mut self, s: usize, provision: u64) {
        let first = self.plan.services[s].first_station;
        let Some(fleet) = &mut self.services[s].fleet else {
            return;
        };
        if let Some(i) = fleet.members.iter().position(|m| m.absent) {
            fleet.account_there(self.now);
            let member = &mut fleet.members[i];
            (member.absent, member.removed, member.streak) = (false, None, (0, 0));
            self.count(s, |c| &mut c.added);
            self.begin_start(first + i as u32, provision);
            self.spread_what_is_left(s);
        }
    }

    /// The last one leaves the rotation, and works off what it has.
    fn take_instance(&mut self, s: usize) {
        let first = self.plan.services[s].first_station;
        let Some(fleet) = &mut self.services[s].fleet else {
            return;
        };
        if let Some(i) = fleet.members.iter().rposition(|m| !m.absent) {
            fleet.account_there(self.now);
            let member = &mut fleet.members[i];
            member.absent = true;
            member.life = member.life.wrapping_add(1);
            self.count(s, |c| &mut c.taken);
            self.set_down(first + i as u32, 0, down::STARTING | down::UNLEASED);
            self.rotate(s);
            self.spread_what_is_left(s);
        }
    }

    /// While a trigger takes workers away, it takes them from whoever is there.
    fn spread_what_is_left(&mut self, s: usize) {
        if self.services[s].left < 1.0 {
            self.spread(s);
        }
    }
}

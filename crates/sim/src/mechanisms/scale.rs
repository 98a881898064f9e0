//! Autoscaling: instances that come late, are cold, and are counted by a quota.
//!
//! The Horizontal Pod Autoscaler of Kubernetes: desired instances are those that serve × their
//! utilisation / target, rounded up, unless the two are within `tolerance` of each other. Instances
//! that start are idle on the way up, so that nothing is wanted twice while they come; on the way down
//! they are not asked. What is wanted goes through two windows: no more than the least that was wanted
//! over `up_after` (none), and no fewer than the most over `down_after` (five minutes). Over `up_every`
//! (15 s) there come no more than make `up_times` (two) times as many as there were at its begin, or
//! `up_by` (four) more, whichever is more. With
//! `starting: busy` those that start count as being as busy as the others, which is not damped: the
//! more are under way, the more are wanted.

use std::collections::VecDeque;

use damper_control::Nanos;
use damper_system::model::{Autoscale, Starting};

use crate::mechanisms::{Due, down};
use crate::world::World;

/// What the autoscaler of a service remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scaling {
    /// Integral of busy workers at its last decision.
    area: f64,
    /// When it wanted how many, as far back as a window reaches.
    wanted: VecDeque<(u64, u32)>,
    /// When how many came, or went (below zero), as far back as `up_every` reaches.
    changed: VecDeque<(u64, i64)>,
}

/// Shares are counted in floating point: a tenth may come out a little above one.
const ROUNDING: f64 = 1e-9;

/// How many are wanted of `present`, of which `serving` serve, at `ratio` times the target.
fn wanted(scale: &Autoscale, present: u32, serving: u32, ratio: f64) -> u32 {
    let near = |ratio: f64| (ratio - 1.0).abs() <= scale.tolerance + ROUNDING;
    let up = |instances: f64| (instances - ROUNDING).ceil().min(f64::from(u32::MAX)) as u32;
    let all = match scale.starting {
        // Nothing is known of anybody.
        _ if serving == 0 => return present.clamp(scale.min, scale.max),
        Starting::Busy => ratio * f64::from(present),
        Starting::Idle => ratio * f64::from(serving),
    };
    // With those that start as idle the share may be near the target, or even below: that is no
    // reason for more, and none for fewer.
    let shared = all / f64::from(present);
    let stays = near(ratio) || (ratio > 1.0 && (shared < 1.0 || near(shared)));
    let wanted = if stays { present } else { up(all) };
    wanted.clamp(scale.min, scale.max)
}

impl Scaling {
    /// How many there shall be: what is wanted now, between what was wanted over the two windows.
    fn stabilised(&mut self, scale: &Autoscale, now: u64, present: u32, wanted: u32) -> u32 {
        let within = |window: u64, at: u64| at.saturating_add(window) > now;
        let longest = scale.up_after.0.max(scale.down_after.0);
        self.wanted.retain(|(at, _)| within(longest, *at));
        let over = |window: u64| {
            let there = self.wanted.iter().filter(move |(at, _)| within(window, *at));
            there.map(|(_, n)| *n).chain([wanted])
        };
        let most = over(scale.up_after.0).min().unwrap_or(wanted);
        let least = over(scale.down_after.0).max().unwrap_or(wanted);
        self.wanted.push_back((now, wanted));
        present.max(most).min(least)
    }

    /// How many there may be now at the most, by how fast more may come; never fewer than there are.
    fn at_most(&mut self, scale: &Autoscale, now: u64, present: u32) -> u32 {
        if scale.up_every == Nanos::ZERO {
            return u32::MAX;
        }
        self.changed.retain(|(at, _)| at.saturating_add(scale.up_every.0) > now);
        let since: i64 = self.changed.iter().map(|(_, n)| n).sum();
        let begin = (i64::from(present) - since).max(0) as f64;
        let most = (begin * scale.up_times - ROUNDING).ceil().max(begin + f64::from(scale.up_by));
        present.max(most.min(f64::from(u32::MAX)) as u32)
    }
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
            // As if it had wanted what there is: fewer come only after the whole window.
            if let Some(fleet) = &mut self.services[s].fleet {
                let there = fleet.members.iter().filter(|m| !m.absent).count() as u32;
                fleet.scaling.wanted.push_back((0, there));
            }
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
        let wanted = wanted(&scale, present, serving, busy / scale.target);
        let now = self.now;
        let Some(fleet) = &mut self.services[s].fleet else {
            return;
        };
        fleet.scaling.area = area;
        let target = fleet.scaling.stabilised(&scale, now, present, wanted);
        let target = target.min(fleet.scaling.at_most(&scale, now, present));
        // The quota is only for those who come.
        let target = target.min(present.saturating_add(scale.at_once.saturating_sub(pending)));
        let change = i64::from(target) - i64::from(present);
        if change != 0 {
            fleet.scaling.changed.push_back((now, change));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Kubernetes' defaults: --horizontal-pod-autoscaler-tolerance 0.1, a downscale stabilisation of
    /// five minutes, none for scaling up, which doubles or adds four in 15 s.
    fn hpa() -> Autoscale {
        Autoscale {
            min: 1,
            max: 100,
            target: 0.5,
            tolerance: 0.1,
            interval: Nanos::from_secs(15),
            provision: Nanos::from_secs(60),
            at_once: u32::MAX,
            starting: Starting::Idle,
            up_after: Nanos::ZERO,
            down_after: Nanos::from_secs(300),
            up_times: 2.0,
            up_by: 4,
            up_every: Nanos::from_secs(15),
        }
    }

    #[test]
    fn wanted_by_hand() {
        let hpa = hpa();
        let want = |present, serving, ratio| wanted(&hpa, present, serving, ratio);
        // The examples of Kubernetes' own page: 200m against a target of 100m is twice as many, 50m
        // half as many.
        assert_eq!((want(4, 4, 2.0), want(4, 4, 0.5)), (8, 2));
        // Rounded up: 3 × 1.5 = 4.5.
        assert_eq!(want(3, 3, 1.5), 5);
        // Within a tenth nothing is done, also at its ends.
        assert_eq!([0.9, 0.95, 1.05, 1.1].map(|ratio| want(10, 10, ratio)), [10; 4]);
        assert_eq!((want(10, 10, 1.11), want(10, 10, 0.89)), (12, 9));
        // Four serve at 1.5 times the target, two start: 4 × 1.5 / 6 = 1.0, so that six are enough.
        assert_eq!(want(6, 4, 1.5), 6);
        // At twice the target eight are wanted, whether two are under way or none.
        assert_eq!((want(6, 4, 2.0), want(4, 4, 2.0)), (8, 8));
        // Ten are there and four serve at 1.5: that the six others are idle is no reason for fewer.
        assert_eq!(want(10, 4, 1.5), 10);
        // On the way down those that start are not asked: 4 × 0.5.
        assert_eq!(want(6, 4, 0.5), 2);
        // Nobody serves: nothing is known.
        assert_eq!(want(6, 0, 0.0), 6);
        assert_eq!((want(60, 60, 3.0), want(2, 2, 0.01)), (100, 1));
    }

    #[test]
    fn those_that_start_may_count_as_busy() {
        let undamped = Autoscale { starting: Starting::Busy, ..hpa() };
        // 6 × 1.5: five more for the same load, and with nine under way it would be more again.
        assert_eq!(wanted(&undamped, 6, 4, 1.5), 9);
        assert_eq!(wanted(&undamped, 9, 4, 1.5), 14);
    }

    const S: u64 = 1_000_000_000;

    /// Goes on by one decision each 15 s, with what is wanted at each.
    fn follow(scale: &Autoscale, begin: u32, wanted: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let mut scaling = Scaling::default();
        scaling.wanted.push_back((0, begin));
        let mut present = begin;
        let next = |(i, wanted): (usize, u32)| {
            present = scaling.stabilised(scale, 15 * S * (i as u64 + 1), present, wanted);
            present
        };
        wanted.into_iter().enumerate().map(next).collect()
    }

    /// Five minutes are twenty decisions. A spike goes up at once, and down when the last decision that
    /// wanted so many is five minutes old; to the most that was wanted since.
    #[test]
    fn fewer_come_after_the_window_and_more_at_once() {
        let spike = [10, 10, 4, 6].into_iter().chain([3; 40]);
        let seen = follow(&hpa(), 4, spike);
        // Ten were wanted at 30 s and go at 330 s; six at 60 s, and go at 360 s.
        assert_eq!(seen[..21], [10; 21]);
        assert_eq!(seen[21..24], [6, 6, 3]);
        // At first it is as if it had wanted what there is: until 285 s, as the window is open below.
        let quiet = follow(&hpa(), 4, [2; 30]);
        assert_eq!((quiet[18], quiet[19]), (4, 2));
    }

    /// What swings within the window stays up: 8 and 2 in turn are 8.
    #[test]
    fn swings_are_held() {
        let swings = (0..60).map(|i| if i % 2 == 0 { 8 } else { 2 });
        assert_eq!(follow(&hpa(), 2, swings.clone())[1..], [8; 59]);
        let undamped = Autoscale { down_after: Nanos::ZERO, ..hpa() };
        assert_eq!(follow(&undamped, 2, swings)[..4], [8, 2, 8, 2]);
    }

    /// A window on the way up: three decisions must want more, and the least of them comes.
    #[test]
    fn more_may_come_after_a_window_too() {
        let slow = Autoscale { up_after: Nanos::from_secs(45), ..hpa() };
        assert_eq!(follow(&slow, 4, [8, 9, 7, 8, 8]), [4, 4, 7, 7, 7]);
    }

    /// Twice as many or four more, counted from what there was when the 15 s began.
    #[test]
    fn more_come_as_fast_as_they_may() {
        let mut scaling = Scaling::default();
        let mut most = |at: u64, present: u32| scaling.at_most(&hpa(), at * S, present);
        assert_eq!([1, 3, 4, 5, 40].map(|present| most(0, present)), [5, 7, 8, 10, 80]);
        // Three came at 10 s, when there were five: until 25 s there may be ten, and then sixteen.
        scaling.changed.push_back((10 * S, 3));
        let mut most = |at: u64, present: u32| scaling.at_most(&hpa(), at * S, present);
        assert_eq!((most(24, 8), most(25, 8)), (10, 16));
        // Of ten six have gone: ten were there when it began. What is there may stay in any case.
        scaling.changed.push_back((30 * S, -6));
        assert_eq!(scaling.at_most(&hpa(), 31 * S, 4), 20);
        scaling.changed.push_back((32 * S, 90));
        assert_eq!(scaling.at_most(&hpa(), 33 * S, 94), 94);
        let free = Autoscale { up_every: Nanos::ZERO, ..hpa() };
        assert_eq!(scaling.at_most(&free, 33 * S, 4), u32::MAX);
    }
}

//! Starts and leases: what an instance does for itself before it serves, and again and again.
//!
//! The loop of both: all instances ask at once, what they ask is slower than their patience, so
//! that the answers come too late and everybody asks anew. The cure on record is a limited rate of
//! restarts, or fewer other requests at whom they ask.

use damper_system::model::Lease;

use crate::mechanisms::{Due, down};
use crate::plan::NEVER;
use crate::slab::NONE;
use crate::world::{Attempt, World};

/// What a call of an instance of its own is for, as the key of its root.
const START: u32 = 0;
pub(crate) const LEASE: u32 = 1;

impl World<'_> {
    /// An instance loses what waits, and begins to start.
    pub(crate) fn restart(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        if self.member(station).is_some_and(|m| !m.absent) {
            self.begin_start(station, 0);
            self.lose_queue(s, station);
        }
    }

    pub(crate) fn begin_start(&mut self, station: u32, delay: u64) {
        let (s, _) = self.instance(station);
        let takes = self.plan.system.services[s].mechanisms.start.map_or(0, |s| s.takes.0);
        let at = self.now.saturating_add(delay).saturating_add(takes);
        if let Some(member) = self.member(station) {
            member.life = member.life.wrapping_add(1);
            member.started_at = at;
            member.renew_at = NEVER;
        }
        self.count(s, |c| &mut c.starts);
        self.set_down(station, down::STARTING, down::UNLEASED);
        self.rotate(s);
        self.wake_at(at, Due::Started, station);
    }

    /// Whether an instance is starting, and this is when it is due.
    fn is_starting(&mut self, station: u32) -> bool {
        let (now, down_now) = (self.now, self.stations[station as usize].down);
        let due = self.member(station).is_some_and(|m| !m.absent && m.started_at <= now);
        due && down_now & down::STARTING != 0
    }

    /// What a start waits for has passed, unless it waits for something later by now.
    pub(crate) fn start_taken(&mut self, station: u32) {
        let now = self.now;
        let due = self.member(station).filter(|m| m.started_at == now);
        if let Some(member) = due {
            member.started_at = 0;
            self.prepare(station);
        }
    }

    /// The calls of a start, from the first one.
    fn prepare(&mut self, station: u32) {
        if !self.is_starting(station) {
            return;
        }
        let (s, _) = self.instance(station);
        let root = self.plan.services[s].start_root;
        let calls = self.plan.system.services[s].mechanisms.start.and_then(|s| s.calls);
        let Some((_, calls)) = calls.filter(|_| root != NONE) else {
            self.serve(station);
            return;
        };
        if let Some(member) = self.member(station) {
            member.left = calls;
        }
        self.chore(station, root, START);
    }

    /// A call of a start has been answered.
    pub(crate) fn prepared(&mut self, station: u32, well: bool) {
        let (s, _) = self.instance(station);
        let again = self.plan.system.services[s].mechanisms.start.map_or(0, |s| s.again.0);
        if !self.is_starting(station) {
            return;
        }
        if !well {
            let at = self.now.saturating_add(again.max(1));
            if let Some(member) = self.member(station) {
                member.started_at = at;
            }
            self.wake_at(at, Due::Started, station);
            return;
        }
        let left = self.member(station).map_or(0, |m| {
            m.left = m.left.saturating_sub(1);
            m.left
        });
        if left == 0 {
            self.serve(station);
        } else {
            self.chore(station, self.plan.services[s].start_root, START);
        }
    }

    /// An instance has started: it is cold, and needs a lease where there are leases.
    fn serve(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        let mechanisms = &self.plan.system.services[s].mechanisms;
        let cold = mechanisms.start.map_or(0, |s| s.cold_for.0);
        let leased = mechanisms.lease.is_some();
        let until = self.now.saturating_add(cold);
        if let Some(member) = self.member(station) {
            member.cold_until = until;
            member.streak = (0, 0);
        }
        self.count(s, |c| &mut c.started);
        self.set_down(station, if leased { down::UNLEASED } else { 0 }, down::STARTING);
        self.rotate(s);
        if leased {
            self.renew(station);
        }
    }

    /// The first renewals, spread over the period.
    pub(crate) fn prime_leases(&mut self, s: usize) {
        let Some(Lease { every, lasts, .. }) = self.plan.system.services[s].mechanisms.lease else {
            return;
        };
        let plan = &self.plan.services[s];
        let (first, n) = (plan.first_station, u64::from(plan.instances));
        for i in 0..n {
            let station = first + i as u32;
            let at = every.0 / n * (i + 1);
            let until = at.saturating_add(lasts.0 - every.0);
            if self.member(station).is_some_and(|m| {
                m.lease_until = until;
                !m.absent
            }) {
                self.renew_at(station, at);
                self.wake_at(until, Due::Expiry, station);
            }
        }
    }

    /// The next renewal, in place of any other: an instance has one at a time, however often it
    /// has been restarted.
    fn renew_at(&mut self, station: u32, at: u64) {
        if let Some(member) = self.member(station) {
            member.renew_at = at;
        }
        self.wake_at(at, Due::Renew, station);
    }

    pub(crate) fn renewal_due(&mut self, station: u32) {
        let now = self.now;
        if let Some(member) = self.member(station).filter(|m| m.renew_at == now) {
            member.renew_at = NEVER;
            self.renew(station);
        }
    }

    fn renew(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        let starting = self.stations[station as usize].down & down::STARTING != 0;
        let root = self.plan.services[s].lease_root;
        if !starting && root != NONE && self.member(station).is_some_and(|m| !m.absent) {
            self.chore(station, root, LEASE);
        }
    }

    /// A renewal has been answered, or not.
    pub(crate) fn lease_answered(&mut self, station: u32, well: bool) {
        let (s, _) = self.instance(station);
        let Some(lease) = self.plan.system.services[s].mechanisms.lease else {
            return;
        };
        if !well {
            self.renew_at(station, self.now.saturating_add(lease.again.0));
            return;
        }
        let until = self.now.saturating_add(lease.lasts.0);
        if let Some(member) = self.member(station) {
            member.lease_until = until;
        }
        self.renew_at(station, self.now.saturating_add(lease.every.0));
        self.wake_at(until, Due::Expiry, station);
        if self.stations[station as usize].down & down::UNLEASED != 0 {
            self.set_down(station, 0, down::UNLEASED);
            self.rotate(s);
        }
    }

    pub(crate) fn lease_may_be_over(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        let now = self.now;
        let over = self.member(station).is_some_and(|m| !m.absent && m.lease_until <= now);
        let gone = down::UNLEASED | down::STARTING;
        if over && self.stations[station as usize].down & gone == 0 {
            self.count(s, |c| &mut c.leases_lost);
            self.set_down(station, down::UNLEASED, 0);
            self.rotate(s);
        }
    }

    /// An instance makes a call for itself: a root like a request, but nobody's.
    fn chore(&mut self, station: u32, root: u32, purpose: u32) {
        let (_, i) = self.instance(station);
        let life = self.member(station).map_or(0, |m| m.life);
        let attempt = self.attempts.insert(Attempt {
            station,
            key: purpose,
            list: life,
            flow: i as u16,
            since: self.now,
            ..Attempt::new(NONE, root)
        });
        self.next_step(attempt);
    }
}

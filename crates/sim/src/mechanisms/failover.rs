//! Failover: while a service fails, the attempts of its callers go to another.
//!
//! The loop: the other one gets both loads, fails in its turn, and stays down when home is back. What
//! is sent there is not handed on, even if it has a failover of its own.

use damper_control::Outcome;

use crate::mechanisms::Due;
use crate::slab::NONE;
use crate::world::World;

/// Attempts without which a window says nothing: a service with less load than ten of them in a
/// window never fails over.
const ENOUGH: u32 = 10;

/// What is known about a service that can be failed over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Away {
    well: u32,
    ended: u32,
    /// Its load goes elsewhere until then.
    until: u64,
}

impl World<'_> {
    pub(crate) fn prime_failover(&mut self, s: usize) {
        if let Some(failover) = self.plan.system.services[s].mechanisms.failover {
            self.wake_at(failover.window.0, Due::Region, s as u32);
        }
    }

    /// Where the next attempt of a call goes: home, or away.
    pub(crate) fn choose_region(&mut self, call: u32) {
        let node = self.calls[call].node;
        let home = match self.plan.nodes[node as usize].home {
            NONE => node,
            home => home,
        };
        let away = self.plan.nodes[home as usize].away;
        if away != NONE {
            let s = self.plan.nodes[home as usize].service as usize;
            let gone = self.now < self.services[s].away.until;
            self.calls[call].node = if gone { away } else { home };
        }
    }

    /// An attempt has ended; those that were sent elsewhere say nothing about home.
    pub(crate) fn count_end(&mut self, call: u32, outcome: Outcome) {
        let node = &self.plan.nodes[self.calls[call].node as usize];
        if node.away != NONE {
            let away = &mut self.services[node.service as usize].away;
            away.ended = away.ended.saturating_add(1);
            away.well = away.well.saturating_add(u32::from(outcome == Outcome::Success));
        }
    }

    pub(crate) fn look_at_region(&mut self, s: usize) {
        let Some(failover) = self.plan.system.services[s].mechanisms.failover else {
            return;
        };
        self.wake_at(self.now.saturating_add(failover.window.0), Due::Region, s as u32);
        let now = self.now;
        let away = &mut self.services[s].away;
        let Away { well, ended, .. } = *away;
        (away.well, away.ended) = (0, 0);
        let fails = ended >= ENOUGH && f64::from(well) < failover.below * f64::from(ended);
        if fails && now >= away.until {
            away.until = now.saturating_add(failover.back_after.0);
            self.count(s, |c| &mut c.failovers);
        }
    }
}

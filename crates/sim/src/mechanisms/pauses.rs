//! Pauses to collect garbage, of all workers of an instance.
//!
//! No work is taken up or ends during a pause. What has done its own work and only waits for a call
//! is not held: it replies when the call is answered, and frees its worker where that blocks.
//!
//! The loop: what waits is alive, so that a long queue makes pauses more frequent and longer, which
//! makes the queue longer. What ends it is less load, a larger heap or a shorter queue.

use crate::calendar::NO_TIMER;
use crate::mechanisms::{Due, down};
use crate::plan::NEVER;
use crate::world::{Event, World};

impl World<'_> {
    /// An attempt that is taken up allocates. When that fills what the living leave of the heap,
    /// everything stops; what is being worked on is done so much later.
    pub(crate) fn allocate(&mut self, s: usize, station: u32, attempt: u32, until: u64) {
        let Some(pauses) = self.plan.system.services[s].mechanisms.pauses else {
            return;
        };
        let st = &self.stations[station as usize];
        let live = st.busy.saturating_add(st.waiting);
        let now = self.now;
        let Some(member) = self.member(station) else {
            return;
        };
        if until != NEVER {
            member.working.push((attempt, until));
        }
        member.allocated = member.allocated.saturating_add(1);
        if member.allocated.saturating_add(live) < pauses.heap {
            return;
        }
        let length = pauses.base.0.saturating_add(pauses.per_live.0.saturating_mul(live.into()));
        member.allocated = 0;
        if length == 0 {
            return;
        }
        let over = now.saturating_add(length);
        member.paused_until = over;
        let mut working = std::mem::take(&mut member.working);
        for (attempt, done) in &mut working {
            *done = done.saturating_add(length);
            let timer = std::mem::replace(&mut self.attempts[*attempt].timer, NO_TIMER);
            self.calendar.cancel(timer);
            self.attempts[*attempt].timer =
                self.calendar.push_timer(*done, Event::Worked(*attempt));
        }
        if let Some(member) = self.member(station) {
            member.working = working;
        }
        if self.measuring {
            let counts = &mut self.service_stats[s].mechanisms;
            counts.pauses += 1;
            counts.paused += length;
        }
        self.set_down(station, down::PAUSED, 0);
        self.wake_at(over, Due::PauseOver, station);
    }

    pub(crate) fn pause_over(&mut self, station: u32) {
        self.set_down(station, 0, down::PAUSED);
    }
}

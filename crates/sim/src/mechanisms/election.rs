//! Leaders that are deposed because their heartbeats wait behind requests.
//!
//! The loop: an election stops the work, what has piled up meanwhile makes the next leader late.
//! What ends it is less load while there is a backlog, or heartbeats that do not wait.

use crate::mechanisms::{Due, down};
use crate::world::World;

impl World<'_> {
    pub(crate) fn prime_elections(&mut self, s: usize) {
        let Some(election) = self.plan.system.services[s].mechanisms.election else {
            return;
        };
        let plan = &self.plan.services[s];
        for i in 0..plan.instances {
            self.wake_at(election.heartbeat.0, Due::Heartbeat, plan.first_station + i);
        }
    }

    pub(crate) fn heartbeat(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        let Some(election) = self.plan.system.services[s].mechanisms.election else {
            return;
        };
        let late = self.answer_time(s, station) > election.timeout.0;
        let leaderless = self.stations[station as usize].down & down::ELECTING != 0;
        if late && !leaderless {
            let at = self.now.saturating_add(election.takes.0);
            if let Some(member) = self.member(station) {
                member.elected_at = at;
            }
            self.count(s, |c| &mut c.elections);
            self.set_down(station, down::ELECTING, 0);
            self.lose_queue(s, station);
            self.wake_at(at, Due::Elected, station);
        } else {
            self.wake_at(self.now.saturating_add(election.heartbeat.0), Due::Heartbeat, station);
        }
    }

    pub(crate) fn elected(&mut self, station: u32) {
        let (s, _) = self.instance(station);
        self.set_down(station, 0, down::ELECTING);
        let heartbeat = self.plan.system.services[s].mechanisms.election;
        if let Some(election) = heartbeat {
            self.wake_at(self.now.saturating_add(election.heartbeat.0), Due::Heartbeat, station);
        }
    }
}

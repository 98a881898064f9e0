//! What instances do by themselves: who is in rotation, who serves, and what wakes them.
//!
//! A service whose instances are all alike, always, has no fleet and pays one test of a flag.

use damper_control::Outcome;
use damper_system::model::{Balance, System};

use crate::plan::{NEVER, ServicePlan};
use crate::slab::NONE;
use crate::world::{Event, World};

mod election;
mod failover;
mod health;
mod logging;
mod pauses;
mod pool;
mod scale;
mod start;

pub(crate) use failover::Away;
use pool::Connections;
use scale::Scaling;

/// What a mechanism waits for; its number is an instance, or where it says so a service.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// A health check.
    Check,
    /// A decision of the autoscaler (of a service).
    Scale,
    /// A pause is over.
    PauseOver,
    /// An instance is restarted.
    Restart,
    /// What a start takes without its calls has passed, or the wait before they begin again.
    Started,
    /// A lease is to be renewed.
    Renew,
    /// A lease may have run out.
    Expiry,
    /// A leader's heartbeat.
    Heartbeat,
    /// There is a leader again.
    Elected,
    /// Has the service failed? (of a service)
    Region,
}

/// Why an instance does not serve.
pub(crate) mod down {
    pub(crate) const PAUSED: u8 = 1;
    pub(crate) const STARTING: u8 = 2;
    pub(crate) const UNLEASED: u8 = 4;
    pub(crate) const ELECTING: u8 = 8;
}

/// The instances of a service that are not alike.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    pub(crate) members: Vec<Member>,
    /// Whom callers choose from.
    pub(crate) rotation: Vec<u32>,
    pub(crate) scaling: Scaling,
    /// Time integral of the instances that are there, and up to when.
    pub(crate) there_area: f64,
    there_since: u64,
    pub(crate) pool: Option<Connections>,
}

/// One instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    /// Not there: has not been added, or was taken away.
    pub(crate) absent: bool,
    /// Taken out by its health check, until then at least.
    pub(crate) removed: Option<u64>,
    /// Checks in a row that passed, that failed.
    pub(crate) streak: (u32, u32),
    pub(crate) cold_until: u64,
    /// When what it waits for is due; what comes earlier belongs to a life that is over.
    pub(crate) started_at: u64,
    pub(crate) elected_at: u64,
    pub(crate) paused_until: u64,
    pub(crate) lease_until: u64,
    pub(crate) renew_at: u64,
    /// Calls of its start that are still to be made.
    pub(crate) left: u32,
    /// Counts its starts, so that a call of an earlier one is known.
    pub(crate) life: u16,
    /// Attempts taken up since the last pause.
    pub(crate) allocated: u32,
    /// What it works on, and until when (only where it pauses).
    pub(crate) working: Vec<(u32, u64)>,
}

/// How often mechanisms of a service did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MechanismCounts {
    /// Instances taken out by health checks.
    pub removed: u64,
    /// Instances brought back by them.
    pub returned: u64,
    /// Instances that began to start.
    pub starts: u64,
    /// Instances that came to serve.
    pub started: u64,
    /// Instances added and taken away by the autoscaler.
    pub added: u64,
    /// Instances taken away by the autoscaler.
    pub taken: u64,
    /// Pauses.
    pub pauses: u64,
    /// Their length together, nanoseconds.
    pub paused: u64,
    /// Leases that ran out.
    pub leases_lost: u64,
    /// Leaders deposed.
    pub elections: u64,
    /// Times its load was sent elsewhere.
    pub failovers: u64,
    /// Failures that were written to a log.
    pub logged: u64,
    /// Connections opened.
    pub connections: u64,
}

impl MechanismCounts {
    /// Every count with its name. `paused` is in nanoseconds.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 13] {
        [
            ("removed", self.removed),
            ("returned", self.returned),
            ("starts", self.starts),
            ("started", self.started),
            ("added", self.added),
            ("taken", self.taken),
            ("pauses", self.pauses),
            ("paused", self.paused),
            ("leases lost", self.leases_lost),
            ("elections", self.elections),
            ("failovers", self.failovers),
            ("logged", self.logged),
            ("connections", self.connections),
        ]
    }

    /// Adds another run's.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let counts = [
            &mut self.removed,
            &mut self.returned,
            &mut self.starts,
            &mut self.started,
            &mut self.added,
            &mut self.taken,
            &mut self.pauses,
            &mut self.paused,
            &mut self.leases_lost,
            &mut self.elections,
            &mut self.failovers,
            &mut self.logged,
            &mut self.connections,
        ];
        for (sum, (_, one)) in counts.into_iter().zip(other.named()) {
            *sum += one;
        }
    }
}

impl Fleet {
    pub(crate) fn new(system: &System, s: usize, plan: &ServicePlan) -> Self {
        let there = system.services[s].instances.max(1);
        let member = |i| Member { absent: i >= there, ..Member::default() };
        let first = plan.first_station;
        let m = &system.services[s].mechanisms;
        Self {
            members: (0..plan.instances).map(member).collect(),
            rotation: (first..first + there).collect(),
            scaling: Scaling::default(),
            there_area: 0.0,
            there_since: 0,
            pool: m.pool.map(|p| Connections::new(p, plan.instances as usize)),
        }
    }

    /// Brings the time integral of the instances that are there up to now.
    pub(crate) fn account_there(&mut self, now: u64) {
        let there = self.members.iter().filter(|m| !m.absent).count();
        self.there_area += there as f64 * now.saturating_sub(self.there_since) as f64;
        self.there_since = now;
    }
}

impl World<'_> {
    /// Puts what mechanisms wait for at first into the calendar.
    pub(crate) fn prime_mechanisms(&mut self) {
        for s in 0..self.services.len() {
            let mechanisms = &self.plan.system.services[s].mechanisms;
            if mechanisms.failover.is_some() {
                self.prime_failover(s);
            }
            if self.services[s].fleet.is_some() {
                self.prime_checks(s);
                self.prime_scaling(s);
                self.prime_leases(s);
                self.prime_elections(s);
            }
        }
    }

    pub(crate) fn wake_at(&mut self, at: u64, due: Due, who: u32) {
        if at != NEVER {
            self.calendar.push(at, Event::Mechanism(due, who));
        }
    }

    pub(crate) fn mechanism_due(&mut self, due: Due, who: u32) {
        match due {
            Due::Check => self.check_health(who),
            Due::Scale => self.scale(who as usize),
            Due::PauseOver => self.pause_over(who),
            Due::Restart => self.restart(who),
            Due::Started => self.start_taken(who),
            Due::Renew => self.renewal_due(who),
            Due::Expiry => self.lease_may_be_over(who),
            Due::Heartbeat => self.heartbeat(who),
            Due::Elected => self.elected(who),
            Due::Region => self.look_at_region(who as usize),
        }
    }

    /// The service of an instance, and the number of the instance in it.
    pub(crate) fn instance(&self, station: u32) -> (usize, usize) {
        let s = self.plan.service_of[station as usize] as usize;
        (s, (station - self.plan.services[s].first_station) as usize)
    }

    pub(crate) fn member(&mut self, station: u32) -> Option<&mut Member> {
        let (s, i) = self.instance(station);
        self.services[s].fleet.as_mut().and_then(|f| f.members.get_mut(i))
    }

    /// Whether the i-th instance of a service is there now.
    pub(crate) fn is_there(&self, s: usize, i: u32) -> bool {
        self.services[s].fleet.as_ref().is_none_or(|f| !f.members[i as usize].absent)
    }

    /// One of its counters goes up by one.
    pub(crate) fn count(&mut self, s: usize, which: fn(&mut MechanismCounts) -> &mut u64) {
        *which(&mut self.service_stats[s].mechanisms) += u64::from(self.measuring);
    }

    /// What a trigger leaves of the workers of an instance.
    pub(crate) fn allot(&mut self, station: u32, workers: u32) {
        self.stations[station as usize].allotted = workers;
        self.set_down(station, 0, 0);
    }

    /// An instance stops (`add`) or serves again (`clear`), for reasons of `down`.
    pub(crate) fn set_down(&mut self, station: u32, add: u8, clear: u8) {
        let st = &mut self.stations[station as usize];
        st.down = (st.down | add) & !clear;
        st.workers = if st.down == 0 { st.allotted } else { 0 };
        self.pull(station);
    }

    /// Who is in rotation, anew.
    pub(crate) fn rotate(&mut self, s: usize) {
        let plan = &self.plan.services[s];
        let panic = self.plan.system.services[s].mechanisms.health.map_or(0.0, |h| h.panic);
        let (first, stations) = (plan.first_station, &self.stations);
        let Some(fleet) = &mut self.services[s].fleet else {
            return;
        };
        let gone = down::STARTING | down::UNLEASED;
        let usable =
            |(i, m): &(usize, &Member)| !m.absent && stations[first as usize + i].down & gone == 0;
        let there = fleet.members.iter().filter(|m| !m.absent).count();
        let all = fleet.members.iter().enumerate().filter(usable);
        let healthy = all.clone().filter(|(_, m)| m.removed.is_none());
        let number = |(i, _): (usize, &Member)| first + i as u32;
        // Envoy compares the share of healthy hosts with the threshold, and then uses them all.
        fleet.rotation = if (healthy.clone().count() as f64) < panic * there as f64 {
            all.map(number).collect()
        } else {
            healthy.map(number).collect()
        };
    }

    /// An instance in rotation; `NONE`: there is none.
    pub(crate) fn choose_in_rotation(&mut self, s: usize) -> u32 {
        let balance = self.plan.system.services[s].balance;
        let now = self.now;
        let state = &mut self.services[s];
        let Some(fleet) = &mut state.fleet else {
            return NONE;
        };
        let n = fleet.rotation.len() as u32;
        if n == 0 {
            return NONE;
        }
        if let Some(pool) = &mut fleet.pool {
            let first = self.plan.services[s].first_station;
            let (station, new) = pool.take(now, first, &fleet.rotation, &mut self.work_stream);
            if new {
                self.count(s, |c| &mut c.connections);
            }
            return station;
        }
        match balance {
            Balance::RoundRobin => {
                state.round_robin = state.round_robin.wrapping_add(1) % n;
                fleet.rotation[state.round_robin as usize]
            }
            Balance::Random => fleet.rotation[self.work_stream.below(n) as usize],
            Balance::LeastLoaded => {
                let load = |i: &&u32| {
                    let st = &self.stations[**i as usize];
                    u64::from(st.busy) + u64::from(st.waiting)
                };
                fleet.rotation.iter().min_by_key(load).copied().unwrap_or(NONE)
            }
        }
    }

    /// How many times its service time an attempt takes at an instance that may be cold.
    pub(crate) fn coldness(&self, s: usize, station: u32) -> f64 {
        let service = &self.plan.services[s];
        let member = (station - service.first_station) as usize;
        let fleet = self.services[s].fleet.as_ref();
        let cold = fleet.is_some_and(|f| self.now < f.members[member].cold_until);
        let start = self.plan.system.services[s].mechanisms.start;
        if cold { start.map_or(1.0, |s| s.cold) } else { 1.0 }
    }

    /// How long a request that came to an instance now would take, without the calls it makes.
    pub(crate) fn answer_time(&self, s: usize, station: u32) -> u64 {
        let (state, st) = (&self.services[s], &self.stations[station as usize]);
        let only_paused = st.down & !down::PAUSED == 0;
        if state.refuse || st.allotted == 0 || !only_paused {
            return NEVER;
        }
        let i = (station - self.plan.services[s].first_station) as usize;
        let paused = state.fleet.as_ref().map_or(0, |f| f.members[i].paused_until);
        let one =
            self.plan.services[s].mean_time as f64 * state.slowdown * self.coldness(s, station);
        let workers = f64::from(st.allotted);
        let ahead = if st.busy < st.allotted { 0.0 } else { f64::from(st.waiting + 1) };
        let wait = (ahead / workers * one + one) as u64;
        wait.saturating_add(state.latency).saturating_add(paused.saturating_sub(self.now))
    }

    /// What waits at an instance is lost: its connections are broken.
    pub(crate) fn lose_queue(&mut self, s: usize, station: u32) {
        let mut lost = Vec::new();
        for (head, _) in &self.stations[station as usize].queues {
            let mut attempt = *head;
            while attempt != NONE {
                lost.push(attempt);
                attempt = self.attempts[attempt].next;
            }
        }
        for attempt in lost {
            self.lose(attempt, s);
        }
    }

    /// A worker begins with an attempt that is done at `until`; `NEVER`: at this instant.
    pub(crate) fn fleet_took(&mut self, s: usize, station: u32, attempt: u32, until: u64) {
        if self.plan.system.services[s].mechanisms.pauses.is_some() {
            self.allocate(s, station, attempt, until);
        }
    }

    /// An attempt is no longer worked on.
    pub(crate) fn fleet_worked(&mut self, station: u32, attempt: u32) {
        if let Some(member) = self.member(station)
            && let Some(at) = member.working.iter().position(|(a, _)| *a == attempt)
        {
            member.working.swap_remove(at);
        }
    }

    /// An attempt has left its instance; `broken`: its caller had gone, and closed the connection.
    pub(crate) fn give_back(&mut self, s: usize, station: u32, broken: bool) {
        let first = self.plan.services[s].first_station;
        if let Some(fleet) = &mut self.services[s].fleet
            && let Some(pool) = &mut fleet.pool
        {
            pool.give_back(station, first, broken);
        }
    }

    /// A call that an instance made for itself has ended.
    pub(crate) fn chore_ended(&mut self, attempt: u32, cause: Outcome) {
        let a = &self.attempts[attempt];
        let (station, life, lease) = (a.station, a.list, a.key == start::LEASE);
        self.attempts.free(attempt);
        let well = cause == Outcome::Success;
        if self.member(station).is_none_or(|m| m.life != life || m.absent) {
            return;
        }
        if lease {
            self.lease_answered(station, well);
        } else {
            self.prepared(station, well);
        }
    }
}

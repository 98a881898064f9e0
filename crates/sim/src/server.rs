//! The service's side: admission, queues, workers, and what becomes of orphans.

use damper_control::deadline::can_finish;
use damper_control::queue::{DropFrom as _, DropRule, QueueOrder as _, Side};
use damper_control::{Nanos, Outcome, Who};
use damper_system::model::{Balance, OnAbandon};

use crate::calendar::NO_TIMER;
use crate::observe::Happened;
use crate::plan::{NEVER, Route};
use crate::slab::NONE;
use crate::stats::record;
use crate::world::{Attempt, Event, Ready, Stage, World};

/// The list of an attempt that did not have to queue.
pub(crate) const NO_LIST: u16 = u16::MAX;

/// An attempt that was turned away at the door.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnedAway {
    pub(crate) outcome: Outcome,
    /// The instance that did it; `NONE`: before one was chosen.
    pub(crate) station: u32,
}

/// Where an attempt goes once it is let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    pub(crate) station: u32,
    /// The list it waits in; [`NO_LIST`]: a worker takes it up at once.
    pub(crate) list: u16,
    /// Its record with the controls of the service; `NONE`: there are none.
    pub(crate) guard: u32,
}

impl World<'_> {
    /// An attempt that was on its way reaches its service.
    pub(crate) fn arrive(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        let (call, s) = (a.call, self.plan.nodes[a.node as usize].service as usize);
        let (orphan, who) = (a.orphan, a.who());
        let refused = match self.admit(s, who) {
            Ok(door) => {
                let a = &mut self.attempts[attempt];
                (a.station, a.list, a.guard) = (door.station, door.list, door.guard);
                if orphan && self.not_wanted(attempt, s) {
                    // Its caller left while it was on its way.
                    self.backlog += u64::from(self.plan.services[s].limited);
                    self.unqueue_unlinked(attempt);
                    self.drop_attempt(attempt, s);
                } else {
                    self.settle_in(attempt, s);
                }
                return;
            }
            Err(refused) => refused,
        };
        self.attempts.free(attempt);
        if call != NONE {
            if self.plan.listens {
                self.listen(call, refused.station);
            }
            self.ready.push(Ready::Ended(call, refused.outcome, refused.outcome));
        }
    }

    /// Whether a service that takes up an attempt without a caller sees that nobody needs it.
    fn not_wanted(&self, attempt: u32, s: usize) -> bool {
        let skips = self.plan.services[s].on_abandon == OnAbandon::Skip;
        skips || self.attempts[attempt].deadline <= self.now
    }

    /// An attempt stands at the door of a service: counts it, and finds it a place.
    ///
    /// # Errors
    /// Rejected where there is no room for it, shed where a control prefers others.
    pub(crate) fn admit(&mut self, s: usize, who: Who) -> Result<Door, TurnedAway> {
        let shown = self.services[s].shown;
        if self.measuring {
            self.service_stats[s].attempts[usize::from(who.class)] += 1;
        }
        if shown != NONE {
            self.point.attempts += 1;
            self.point.services[shown as usize].attempts += 1;
        }
        let place = self.find_place(s, who);
        if let Err(TurnedAway { outcome, .. }) = place {
            let stats = &mut self.service_stats[s];
            if outcome == Outcome::Shed {
                stats.shed[usize::from(who.class)] += u64::from(self.measuring);
            } else {
                stats.rejected += u64::from(self.measuring);
            }
            if shown != NONE {
                self.point.services[shown as usize].rejected += 1;
            }
        }
        place
    }

    fn find_place(&mut self, s: usize, who: Who) -> Result<Door, TurnedAway> {
        let plan = &self.plan.services[s];
        let now = Nanos(self.now);
        let state = &mut self.services[s];
        if state.refuse || state.limit.as_mut().is_some_and(|l| !l.try_acquire(now)) {
            return Err(TurnedAway { outcome: Outcome::Rejected, station: NONE });
        }
        if plan.levers && !self.lever_lets_through(s, who) {
            self.service_stats[s].refused_lever += u64::from(self.measuring);
            return Err(TurnedAway { outcome: Outcome::Shed, station: NONE });
        }
        let station = self.choose(s);
        if station == NONE {
            return Err(TurnedAway { outcome: Outcome::Rejected, station });
        }
        let place = self.place_at(s, station, who);
        if place.is_err() && self.plan.pools {
            self.give_back(s, station, false);
        }
        place
    }

    fn place_at(&mut self, s: usize, station: u32, who: Who) -> Result<Door, TurnedAway> {
        let plan = &self.plan.services[s];
        let now = Nanos(self.now);
        let guard = if plan.guarded {
            let asked = self.ask_guard(s, station, who);
            asked.map_err(|outcome| TurnedAway { outcome, station })?
        } else {
            NONE
        };
        let st = &mut self.stations[station as usize];
        let list = if st.busy < st.workers && !plan.holds_back {
            NO_LIST
        } else {
            match st.order.join(now, who, st.waiting, plan.queue) {
                Ok(list) => list as u16,
                Err(_) => {
                    self.guard_ended(guard, station, who, None);
                    return Err(TurnedAway { outcome: Outcome::Rejected, station });
                }
            }
        };
        Ok(Door { station, list, guard })
    }

    /// An admitted attempt goes to a free worker, or into the queue.
    pub(crate) fn settle_in(&mut self, attempt: u32, s: usize) {
        let service = &self.plan.services[s];
        self.backlog += u64::from(service.limited);
        let a = &mut self.attempts[attempt];
        a.since = self.now;
        let station = a.station;
        if a.list == NO_LIST {
            // Nobody waits, which a drop rule must see: a rule about the shortest wait of an
            // interval would otherwise only hear of those who had to.
            let st = &mut self.stations[station as usize];
            if !matches!(st.rule, DropRule::Keep(_)) {
                st.rule.joined(Nanos(self.now), st.waiting);
                st.rule.drops(Nanos(self.now), Nanos::ZERO, st.waiting);
            }
            self.take_up(attempt);
            return;
        }
        a.stage = Stage::Queued;
        self.enqueue(attempt, station);
        if service.holds_back {
            self.pull(station);
        }
        let stats = &mut self.service_stats[s];
        stats.queue_max = stats.queue_max.max(self.stations[station as usize].waiting);
    }

    fn choose(&mut self, s: usize) -> u32 {
        let service = &self.plan.services[s];
        let (first, n) = (service.first_station, service.instances);
        if service.fleet {
            return self.choose_in_rotation(s);
        }
        if n == 1 {
            return first;
        }
        match self.plan.system.services[s].balance {
            Balance::RoundRobin => {
                let next = &mut self.services[s].round_robin;
                *next = (*next + 1) % n;
                first + *next
            }
            Balance::Random => first + self.work_stream.below(n),
            Balance::LeastLoaded => {
                let load = |i: &u32| {
                    let st = &self.stations[*i as usize];
                    u64::from(st.busy) + u64::from(st.waiting)
                };
                (first..first + n).min_by_key(load).unwrap_or(first)
            }
        }
    }

    fn enqueue(&mut self, attempt: u32, station: u32) {
        let list = usize::from(self.attempts[attempt].list);
        let st = &mut self.stations[station as usize];
        st.rule.joined(Nanos(self.now), st.waiting);
        st.waiting += 1;
        let (head, tail) = st.queues[list];
        st.queues[list] = (if head == NONE { attempt } else { head }, attempt);
        self.link(tail, attempt, NONE);
    }

    /// An attempt that was given a place in a list has not been put there after all.
    fn unqueue_unlinked(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        if a.list != NO_LIST {
            let order = &mut self.stations[a.station as usize].order;
            order.left(Nanos(self.now), usize::from(a.list));
        }
    }

    fn link(&mut self, previous: u32, attempt: u32, next: u32) {
        let a = &mut self.attempts[attempt];
        (a.previous, a.next) = (previous, next);
        if previous != NONE {
            self.attempts[previous].next = attempt;
        }
        if next != NONE {
            self.attempts[next].previous = attempt;
        }
    }

    fn dequeue(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        let (previous, next, station) = (a.previous, a.next, a.station);
        let list = usize::from(a.list);
        if previous != NONE {
            self.attempts[previous].next = next;
        }
        if next != NONE {
            self.attempts[next].previous = previous;
        }
        let st = &mut self.stations[station as usize];
        st.waiting -= 1;
        let (head, tail) = &mut st.queues[list];
        if *head == attempt {
            *head = next;
        }
        if *tail == attempt {
            *tail = previous;
        }
    }

    /// Free workers of a station take up what waits.
    pub(crate) fn pull(&mut self, station: u32) {
        let now = Nanos(self.now);
        loop {
            let st = &mut self.stations[station as usize];
            if st.busy >= st.workers || st.waiting == 0 {
                return;
            }
            let Some((list, side)) = st.order.next(now) else {
                return;
            };
            let (head, tail) = st.queues[list];
            let attempt = if side == Side::Oldest { head } else { tail };
            self.dequeue(attempt);
            self.left_queue(attempt);
            let a = &self.attempts[attempt];
            let (orphan, waited) = (a.orphan, now.since(Nanos(a.since)));
            let s = self.plan.nodes[a.node as usize].service as usize;
            let unwanted = orphan && self.not_wanted(attempt, s);
            let st = &mut self.stations[station as usize];
            if unwanted {
                self.stations[station as usize].order.done(now, list, Nanos::ZERO);
                self.drop_attempt(attempt, s);
            } else if st.rule.drops(now, waited, st.waiting) {
                st.order.done(now, list, Nanos::ZERO);
                self.refuse_queued(attempt, s, Outcome::Shed);
            } else if self.too_late(attempt, s) {
                self.stations[station as usize].order.done(now, list, Nanos::ZERO);
                self.refuse_queued(attempt, s, Outcome::TimedOut);
            } else {
                self.take_up(attempt);
            }
        }
    }

    fn left_queue(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        let s = self.plan.nodes[a.node as usize].service as usize;
        let delay = self.now - a.since;
        if self.measuring {
            record(&mut self.service_stats[s].queue_delay_us, delay);
        }
        let shown = self.services[s].shown;
        if shown != NONE {
            let point = &mut self.point.services[shown as usize];
            point.delay += delay as f64;
            point.left += 1;
        }
    }

    /// Whether a deadline travelled with the attempt and leaves less time than its work takes on
    /// average. To start such work is to waste it: in a full queue served in order, the oldest
    /// attempt that still has a caller is always about to lose it.
    fn too_late(&self, attempt: u32, s: usize) -> bool {
        let deadline = self.attempts[attempt].deadline;
        let mean = self.plan.services[s].mean_time;
        deadline != NEVER && !can_finish(Nanos(self.now), Nanos(mean), Some(Nanos(deadline)))
    }

    /// Tells a caller that still waits that its attempt is not worked on.
    fn refuse_queued(&mut self, attempt: u32, s: usize, outcome: Outcome) {
        let Attempt { call, station, class, .. } = self.attempts[attempt];
        let (stats, one) = (&mut self.service_stats[s], u64::from(self.measuring));
        if outcome == Outcome::Shed {
            stats.shed[usize::from(class)] += one;
            stats.dropped_waiting += one;
        } else {
            stats.dropped += one;
        }
        // To the service itself it is one that it could not serve in time.
        self.leave(attempt, s, Some(Outcome::TimedOut));
        if call != NONE {
            if self.plan.listens {
                self.listen(call, station);
            }
            self.calls[call].attempt = NONE;
            self.clear_timer(call);
            self.settle(call, outcome);
            self.ready.push(Ready::Ended(call, outcome, outcome));
        }
    }

    /// An attempt that waits loses its instance.
    pub(crate) fn lose(&mut self, attempt: u32, s: usize) {
        let a = &self.attempts[attempt];
        let (station, list) = (a.station, usize::from(a.list));
        self.dequeue(attempt);
        self.stations[station as usize].order.left(Nanos(self.now), list);
        self.refuse_queued(attempt, s, Outcome::Failed);
    }

    /// An attempt leaves the queue for good before its work was done.
    fn drop_attempt(&mut self, attempt: u32, s: usize) {
        if self.measuring {
            self.service_stats[s].dropped += 1;
        }
        self.leave(attempt, s, None);
    }

    /// The same, counted elsewhere.
    fn leave(&mut self, attempt: u32, s: usize, outcome: Option<Outcome>) {
        self.backlog -= u64::from(self.plan.services[s].limited);
        self.free_attempt(attempt, outcome);
    }

    /// An attempt is no more. `outcome`: how it ended, as its service knows it.
    fn free_attempt(&mut self, attempt: u32, outcome: Option<Outcome>) {
        self.watch.see(self.now, Happened::Left { attempt, outcome });
        let a = &self.attempts[attempt];
        let (guard, station, who, orphan) = (a.guard, a.station, a.who(), a.orphan);
        if self.plan.pools {
            let s = self.plan.nodes[a.node as usize].service as usize;
            self.give_back(s, station, orphan);
        }
        if guard != NONE {
            self.guard_ended(guard, station, who, outcome);
        }
        self.attempts.free(attempt);
    }

    /// A worker begins with an attempt.
    fn take_up(&mut self, attempt: u32) {
        let plan = self.plan;
        let a = &self.attempts[attempt];
        let (station, guard) = (a.station, a.guard);
        let s = plan.nodes[a.node as usize].service as usize;
        let service = &plan.services[s];
        self.account_busy(station as usize);
        if guard != NONE {
            self.guard_taken(attempt);
        }
        let busy = &mut self.stations[station as usize].busy;
        *busy += 1;
        let others = f64::from(*busy - 1);
        let burst = self.burst(s);
        let state = &self.services[s];
        let mut work = service.time.draw(&mut self.service_stream, &self.ziggurat);
        let fails = self.service_stream.chance(state.failure.max(burst));
        let contention = plan.system.services[s].contention;
        let crowd = 1.0 + contention.alpha * others + contention.beta * others * (others + 1.0);
        let cold = if service.fleet { self.coldness(s, station) } else { 1.0 };
        let factor = state.slowdown * crowd * cold * if fails { service.error_cost } else { 1.0 };
        if factor != 1.0 {
            work = (work as f64 * factor) as u64;
        }
        let a = &mut self.attempts[attempt];
        (a.stage, a.work, a.fails) = (Stage::Working, work, fails);
        let mut until = NEVER;
        if work == 0 && service.time.is_zero() {
            self.ready.push(Ready::Worked(attempt));
        } else {
            until = self.now.saturating_add(work);
            self.attempts[attempt].timer = self.calendar.push_timer(until, Event::Worked(attempt));
        }
        if service.fleet {
            self.fleet_took(s, station, attempt, until);
        }
    }

    /// A worker has done its own work for an attempt.
    pub(crate) fn worked(&mut self, attempt: u32) {
        let plan = self.plan;
        let a = &mut self.attempts[attempt];
        let s = plan.nodes[a.node as usize].service as usize;
        let service = &plan.services[s];
        let (orphan, fails, station) = (a.orphan, a.fails, a.station);
        let work = if service.time.is_zero() { 1.0 } else { a.work as f64 };
        a.stage = Stage::Calling;
        if service.fleet {
            self.fleet_worked(station, attempt);
        }
        let wasted = if orphan { work } else { 0.0 };
        if self.measuring {
            let stats = &mut self.service_stats[s];
            stats.work += work;
            stats.wasted += wasted;
        }
        let shown = self.services[s].shown;
        if shown != NONE {
            let point = &mut self.point.services[shown as usize];
            point.work += work;
            point.wasted += wasted;
        }
        if !service.blocking {
            self.release(attempt, station, service.limited);
        }
        if fails {
            self.attempts[attempt].cause = Outcome::Failed;
            self.finished(attempt, Outcome::Failed);
        } else {
            self.next_step(attempt);
        }
    }

    /// A worker has nothing more to do with an attempt.
    fn release(&mut self, attempt: u32, station: u32, limited: bool) {
        self.account_busy(station as usize);
        let a = &self.attempts[attempt];
        let st = &mut self.stations[station as usize];
        st.busy -= 1;
        if a.list != NO_LIST {
            st.order.done(Nanos(self.now), usize::from(a.list), Nanos(a.work));
        }
        self.backlog -= u64::from(limited);
        if self.stations[station as usize].waiting > 0 {
            self.pull(station);
        }
    }

    /// An attempt has done everything, or failed: replies to its caller if there still is one.
    pub(crate) fn finished(&mut self, attempt: u32, cause: Outcome) {
        let a = &self.attempts[attempt];
        let node = &self.plan.nodes[a.node as usize];
        if node.service == NONE {
            match node.through {
                Route::Fetch(cache) => self.fetched(attempt, cache, cause),
                Route::Chore => self.chore_ended(attempt, cause),
                _ => self.request_ended(attempt, cause),
            }
            return;
        }
        let (call, fails, s, key) = (a.call, a.fails, node.service as usize, a.key);
        let (station, plan) = (a.station, self.plan);
        let service = &plan.services[s];
        if service.log_node != NONE && self.logs(attempt, s, cause) {
            return;
        }
        let outcome = match cause {
            Outcome::Success => Outcome::Success,
            _ if fails => Outcome::Failed,
            _ => Outcome::FailedBelow,
        };
        if self.measuring {
            let stats = &mut self.service_stats[s];
            match outcome {
                _ if call == NONE => stats.abandoned += 1,
                Outcome::Success => stats.served += 1,
                Outcome::Failed => stats.failed += 1,
                _ => stats.failed_below += 1,
            }
        }
        self.point.replies += u64::from(service.limited);
        if service.blocking {
            self.release(attempt, station, service.limited);
        }
        if let Route::LookAside(cache) = node.through
            && outcome == Outcome::Success
        {
            let in_time = call != NONE;
            self.fill(cache as usize, key, in_time);
        }
        self.free_attempt(attempt, Some(outcome));
        if call != NONE {
            if self.plan.listens {
                self.listen(call, station);
            }
            self.ready.push(Ready::Ended(call, outcome, cause));
        }
    }

    /// The caller of an attempt has gone. Where services notice, so have the callers of all that
    /// it called: children first, and without recursion, since routes can be of any length.
    pub(crate) fn abandon(&mut self, attempt: u32) {
        if !self.orphan(attempt) {
            return;
        }
        if self.attempts[attempt].calls == NONE {
            self.cancel(attempt);
            return;
        }
        let mut way = vec![attempt];
        while let Some(last) = way.last().copied() {
            match self.cancel_call(last) {
                Some(NONE) => {}
                Some(below) => {
                    if self.orphan(below) {
                        way.push(below);
                    }
                }
                None => {
                    way.pop();
                    self.cancel(last);
                }
            }
        }
    }

    /// An attempt loses its caller; whether its service notices at once.
    fn orphan(&mut self, attempt: u32) -> bool {
        let a = &mut self.attempts[attempt];
        a.call = NONE;
        a.orphan = true;
        let s = self.plan.nodes[a.node as usize].service as usize;
        a.stage != Stage::Fetching && self.plan.services[s].on_abandon == OnAbandon::Cancel
    }

    /// The service notices that the caller has gone, and stops. No call of it is open.
    fn cancel(&mut self, attempt: u32) {
        let s = self.plan.nodes[self.attempts[attempt].node as usize].service as usize;
        let service = &self.plan.services[s];
        let a = &mut self.attempts[attempt];
        let (stage, station, list) = (a.stage, a.station, a.list);
        let timer = std::mem::replace(&mut a.timer, NO_TIMER);
        match stage {
            Stage::Travelling => {
                // Has not reached the service, which counts what it received.
                self.calendar.cancel(timer);
                self.attempts.free(attempt);
                return;
            }
            Stage::Queued => {
                self.dequeue(attempt);
                let order = &mut self.stations[station as usize].order;
                order.left(Nanos(self.now), usize::from(list));
                self.backlog -= u64::from(service.limited);
            }
            Stage::Working => {
                if timer == NO_TIMER {
                    // Takes no time and is about to be done at this instant.
                    self.ready.retain(|r| !matches!(r, Ready::Worked(a) if *a == attempt));
                } else {
                    self.calendar.cancel(timer);
                }
                if service.fleet {
                    self.fleet_worked(station, attempt);
                }
                self.release(attempt, station, service.limited);
            }
            Stage::Calling => {
                if service.blocking {
                    self.release(attempt, station, service.limited);
                }
            }
            Stage::Fetching => return,
        }
        if self.measuring {
            self.service_stats[s].dropped += 1;
        }
        self.free_attempt(attempt, None);
    }
}

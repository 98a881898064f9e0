//! The service's side: admission, queues, workers, and what becomes of orphans.

use damper_control::deadline::can_finish;
use damper_control::{Nanos, Outcome};
use damper_system::model::{Balance, OnAbandon, Order};

use crate::calendar::NO_TIMER;
use crate::plan::{NEVER, Route};
use crate::slab::NONE;
use crate::stats::record;
use crate::world::{Event, Ready, Stage, World};

impl World<'_> {
    /// An attempt that was on its way reaches its service.
    pub(crate) fn arrive(&mut self, attempt: u32) {
        let a = &self.attempts[attempt];
        let (call, s) = (a.call, self.plan.nodes[a.node as usize].service as usize);
        let orphan = a.orphan;
        let station = self.admit(s, a.class);
        if let Some(station) = station {
            self.attempts[attempt].station = station;
            let skips = self.plan.services[s].on_abandon == OnAbandon::Skip;
            if orphan && (skips || self.attempts[attempt].deadline <= self.now) {
                // Its caller left while it was on its way.
                self.backlog += u64::from(self.plan.services[s].limited);
                self.drop_attempt(attempt, s);
            } else {
                self.settle_in(attempt, s);
            }
            return;
        }
        self.attempts.free(attempt);
        if call != NONE {
            self.ready.push(Ready::Ended(call, Outcome::Rejected, Outcome::Rejected));
        }
    }

    /// An attempt stands at the door of a service: counts it, and chooses the instance that takes
    /// it in. `None`: rejected.
    pub(crate) fn admit(&mut self, s: usize, class: u8) -> Option<u32> {
        let shown = self.services[s].shown;
        if self.measuring {
            self.service_stats[s].attempts[usize::from(class)] += 1;
        }
        if shown != NONE {
            self.point.attempts += 1;
            self.point.services[shown as usize].attempts += 1;
        }
        let now = Nanos(self.now);
        let state = &mut self.services[s];
        let refused = state.refuse || state.limit.as_mut().is_some_and(|l| !l.try_acquire(now));
        if !refused {
            let station = self.choose(s);
            let st = &self.stations[station as usize];
            if st.busy < st.workers || st.waiting < self.plan.services[s].queue {
                return Some(station);
            }
        }
        self.service_stats[s].rejected += u64::from(self.measuring);
        if shown != NONE {
            self.point.services[shown as usize].rejected += 1;
        }
        None
    }

    /// An admitted attempt goes to a free worker, or into the queue.
    pub(crate) fn settle_in(&mut self, attempt: u32, s: usize) {
        let service = &self.plan.services[s];
        self.backlog += u64::from(service.limited);
        let a = &mut self.attempts[attempt];
        a.since = self.now;
        let station = a.station;
        let st = &self.stations[station as usize];
        if st.busy < st.workers {
            self.take_up(attempt);
            return;
        }
        a.stage = Stage::Queued;
        self.enqueue(attempt, station, service.order);
        let stats = &mut self.service_stats[s];
        stats.queue_max = stats.queue_max.max(self.stations[station as usize].waiting);
    }

    fn choose(&mut self, s: usize) -> u32 {
        let service = &self.plan.services[s];
        let (first, n) = (service.first_station, service.instances);
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

    fn enqueue(&mut self, attempt: u32, station: u32, order: Order) {
        let class = self.attempts[attempt].class;
        let st = &mut self.stations[station as usize];
        st.waiting += 1;
        let list = if order == Order::Priority { usize::from(class) } else { 0 };
        let (head, tail) = st.queues[list];
        if order == Order::Lifo {
            st.queues[list] = (attempt, if tail == NONE { attempt } else { tail });
            self.link(NONE, attempt, head);
        } else {
            st.queues[list] = (if head == NONE { attempt } else { head }, attempt);
            self.link(tail, attempt, NONE);
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

    fn dequeue(&mut self, attempt: u32, list: usize) {
        let a = &self.attempts[attempt];
        let (previous, next, station) = (a.previous, a.next, a.station);
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
        loop {
            let st = &self.stations[station as usize];
            if st.busy >= st.workers || st.waiting == 0 {
                return;
            }
            let Some(list) = st.queues.iter().position(|q| q.0 != NONE) else {
                return;
            };
            let attempt = st.queues[list].0;
            self.dequeue(attempt, list);
            self.left_queue(attempt);
            let a = &self.attempts[attempt];
            let s = self.plan.nodes[a.node as usize].service as usize;
            let skips = self.plan.services[s].on_abandon == OnAbandon::Skip;
            if a.orphan && (skips || a.deadline <= self.now) {
                self.drop_attempt(attempt, s);
            } else if self.too_late(attempt, s) {
                self.refuse_late(attempt, s);
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

    /// Tells a caller that still waits that its attempt comes too late.
    fn refuse_late(&mut self, attempt: u32, s: usize) {
        let call = self.attempts[attempt].call;
        self.drop_attempt(attempt, s);
        if call != NONE {
            self.calls[call].attempt = NONE;
            self.clear_timer(call);
            self.settle(call, Outcome::TimedOut);
            self.ready.push(Ready::Ended(call, Outcome::TimedOut, Outcome::TimedOut));
        }
    }

    /// An attempt leaves the queue for good before its work was done.
    fn drop_attempt(&mut self, attempt: u32, s: usize) {
        self.backlog -= u64::from(self.plan.services[s].limited);
        if self.measuring {
            self.service_stats[s].dropped += 1;
        }
        self.attempts.free(attempt);
    }

    /// A worker begins with an attempt.
    fn take_up(&mut self, attempt: u32) {
        let plan = self.plan;
        let a = &self.attempts[attempt];
        let (station, s) = (a.station, plan.nodes[a.node as usize].service as usize);
        let service = &plan.services[s];
        self.account_busy(station as usize);
        let busy = &mut self.stations[station as usize].busy;
        *busy += 1;
        let others = f64::from(*busy - 1);
        let state = &self.services[s];
        let mut work = service.time.draw(&mut self.service_stream, &self.ziggurat);
        let fails = self.service_stream.chance(state.failure);
        let contention = plan.system.services[s].contention;
        let crowd = 1.0 + contention.alpha * others + contention.beta * others * (others + 1.0);
        let factor = state.slowdown * crowd * if fails { service.error_cost } else { 1.0 };
        if factor != 1.0 {
            work = (work as f64 * factor) as u64;
        }
        let a = &mut self.attempts[attempt];
        (a.stage, a.work, a.fails) = (Stage::Working, work, fails);
        if work == 0 && service.time.is_zero() {
            self.ready.push(Ready::Worked(attempt));
        } else {
            let at = self.now.saturating_add(work);
            self.attempts[attempt].timer = self.calendar.push_timer(at, Event::Worked(attempt));
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
            self.release(station, service.limited);
        }
        if fails {
            self.attempts[attempt].cause = Outcome::Failed;
            self.finished(attempt, Outcome::Failed);
        } else {
            self.next_step(attempt);
        }
    }

    fn release(&mut self, station: u32, limited: bool) {
        self.account_busy(station as usize);
        self.stations[station as usize].busy -= 1;
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
                _ => self.request_ended(attempt, cause),
            }
            return;
        }
        let (call, fails, s, key) = (a.call, a.fails, node.service as usize, a.key);
        let service = &self.plan.services[s];
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
            self.release(a.station, service.limited);
        }
        if let Route::LookAside(cache) = node.through
            && outcome == Outcome::Success
        {
            let in_time = call != NONE;
            self.fill(cache as usize, key, in_time);
        }
        self.attempts.free(attempt);
        if call != NONE {
            self.ready.push(Ready::Ended(call, outcome, cause));
        }
    }

    /// The caller of an attempt has gone. Where services notice, so have the callers of all that
    /// it called: children first, and without recursion, since routes can be of any length.
    pub(crate) fn abandon(&mut self, attempt: u32) {
        if !self.leave(attempt) {
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
                    if self.leave(below) {
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
    fn leave(&mut self, attempt: u32) -> bool {
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
        let (stage, station, class) = (a.stage, a.station, a.class);
        let timer = std::mem::replace(&mut a.timer, NO_TIMER);
        match stage {
            Stage::Travelling => {
                // Has not reached the service, which counts what it received.
                self.calendar.cancel(timer);
                self.attempts.free(attempt);
                return;
            }
            Stage::Queued => {
                let list = if service.order == Order::Priority { usize::from(class) } else { 0 };
                self.dequeue(attempt, list);
                self.backlog -= u64::from(service.limited);
            }
            Stage::Working => {
                if timer == NO_TIMER {
                    // Takes no time and is about to be done at this instant.
                    self.ready.retain(|r| !matches!(r, Ready::Worked(a) if *a == attempt));
                } else {
                    self.calendar.cancel(timer);
                }
                self.release(station, service.limited);
            }
            Stage::Calling => {
                if service.blocking {
                    self.release(station, service.limited);
                }
            }
            Stage::Fetching => return,
        }
        if self.measuring {
            self.service_stats[s].dropped += 1;
        }
        self.attempts.free(attempt);
    }
}

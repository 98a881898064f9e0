//! The state of a door: who works, who waits, who is next. No task, no timer, no lock: every
//! operation is one step, and tells whom to wake.

use std::task::Waker;

use damper_control::admission::{AdmissionRule as _, Busy, RateLimit};
use damper_control::concurrency::{ConcurrencyLimit as _, Limiter, Permit};
use damper_control::guard::{Guard, Guarded, Turned, Utilisation};
use damper_control::queue::{DropFrom as _, DropRule, Order, QueueOrder as _};
use damper_control::{Nanos, Outcome, Reason, Refusal, Who};

use super::lists::Lists;
use crate::clock::Chance;

/// A door between two steps.
#[derive(Debug)]
pub(crate) struct Core {
    /// A rate above which requests are refused before anything else.
    pub(crate) rate: Option<RateLimit>,
    pub(crate) guard: Guard,
    pub(crate) order: Order,
    pub(crate) rule: DropRule,
    /// A limit on what works, for which requests wait instead of being refused.
    pub(crate) room: Option<Limiter>,
    pub(crate) workers: u32,
    pub(crate) queue: u32,
    /// How long a request needs at least.
    pub(crate) needs: Nanos,
    pub(crate) chance: Chance,
    pub(super) working: u32,
    pub(super) lists: Lists<Waiter>,
    utilisation: Utilisation,
    /// The integral of `working` over time, and its last instant.
    area: f64,
    seen: Nanos,
}

/// A request that waits, or whose future does not know yet that it need not.
#[derive(Debug)]
pub(super) struct Waiter {
    who: Who,
    since: Nanos,
    deadline: Option<Nanos>,
    guarded: Guarded,
    waker: Option<Waker>,
    now: Now,
}

#[derive(Debug)]
enum Now {
    Waits,
    Works(Work),
    Refused(Refusal),
    /// Its future has taken what it was given.
    Gone,
}

/// A request that works: to be handed to [`Core::leave`].
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) who: Who,
    guarded: Guarded,
    permit: Option<Permit>,
    list: Option<usize>,
    taken: Nanos,
}

/// What became of a request that came.
#[derive(Debug)]
pub(crate) enum Came {
    /// It works.
    Works(Work),
    /// It waits under this number.
    Waits(u32),
}

/// What a waiting request hears.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Nothing yet; it will be woken.
    Waits,
    /// It works.
    Works(Work),
    /// It was refused, for instance dropped from the queue.
    Refused(Refusal),
}

/// Whom to wake when the lock is released. Nearly always it is one or none.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Wakes {
    fn push(&mut self, waker: Option<Waker>) {
        match waker {
            Some(waker) if self.first.is_none() => self.first = Some(waker),
            Some(waker) => self.more.push(waker),
            None => {}
        }
    }

    pub(crate) fn wake(self) {
        self.first.into_iter().chain(self.more).for_each(Waker::wake);
    }
}

impl Core {
    pub(crate) fn new(order: Order, chance: Chance) -> Self {
        Self {
            rate: None,
            guard: Guard::default(),
            rule: DropRule::Keep(damper_control::queue::Keep),
            room: None,
            workers: u32::MAX,
            queue: u32::MAX,
            needs: Nanos::ZERO,
            chance,
            working: 0,
            lists: Lists::new(order.lists()),
            utilisation: Utilisation::default(),
            area: 0.0,
            seen: Nanos::ZERO,
            order,
        }
    }

    /// Requests that wait.
    pub(crate) fn waiting(&self) -> u32 {
        self.lists.len()
    }

    /// Requests that may work at the same time now.
    fn most(&self) -> u32 {
        let limit = self.room.as_ref().map_or(u32::MAX, |limiter| limiter.limit().limit());
        self.workers.min(limit)
    }

    fn account(&mut self, now: Nanos) {
        self.area += f64::from(self.working) * now.since(self.seen).0 as f64;
        self.seen = self.seen.max(now);
    }

    fn busy(&mut self, now: Nanos) -> Busy {
        self.account(now);
        let workers = self.most();
        let utilisation = if workers == u32::MAX {
            0.0
        } else {
            self.utilisation.at(now, self.area, f64::from(workers.max(1)))
        };
        Busy {
            waiting: self.waiting(),
            queue_limit: self.queue,
            working: self.working,
            workers,
            utilisation,
        }
    }

    /// A request comes.
    pub(crate) fn come(
        &mut self,
        now: Nanos,
        who: Who,
        deadline: Option<Nanos>,
        wakes: &mut Wakes,
    ) -> Result<Came, (Refusal, Outcome)> {
        if !damper_control::deadline::can_finish(now, self.needs, deadline) {
            return Err((late(who), Outcome::TimedOut));
        }
        let busy = self.busy(now);
        if let Some(rate) = &mut self.rate {
            let admitted = rate.admit(now, who, &busy, &mut self.chance);
            admitted.map_err(|refusal| (refusal, Outcome::Rejected))?;
        }
        let asked = self.guard.ask(now, who, &busy, &mut self.chance);
        let guarded = asked.map_err(|turned: Turned| (turned.refusal(), turned.outcome()))?;
        let waiting = self.waiting();
        if self.working < self.most() && waiting == 0 && !self.order.holds_back() {
            // Nobody waits, which a drop rule must see: a rule about the shortest wait of an
            // interval would otherwise only hear of those who had to.
            self.rule.joined(now, 0);
            self.rule.drops(now, Nanos::ZERO, 0);
            return Ok(Came::Works(self.take(now, who, guarded, None, Nanos::ZERO)));
        }
        let list = match self.order.join(now, who, waiting, self.queue) {
            Ok(list) => list,
            Err(refusal) => {
                self.guard.ended(now, who, guarded, None, &mut self.chance);
                return Err((refusal, Outcome::Rejected));
            }
        };
        self.rule.joined(now, waiting);
        let waiter = Waiter { who, since: now, deadline, guarded, waker: None, now: Now::Waits };
        let id = self.lists.push(list, waiter);
        self.next(now, wakes);
        Ok(Came::Waits(id))
    }

    /// A worker takes a request up.
    fn take(
        &mut self,
        now: Nanos,
        who: Who,
        mut guarded: Guarded,
        list: Option<usize>,
        waited: Nanos,
    ) -> Work {
        self.account(now);
        self.working += 1;
        let permit = self.room.as_mut().and_then(|room| room.acquire(now, who.class).ok());
        let busy = self.busy(now);
        self.guard.taken(now, who, &mut guarded, waited, &busy);
        Work { who, guarded, permit, list, taken: now }
    }

    /// Fills the room that there is.
    fn next(&mut self, now: Nanos, wakes: &mut Wakes) {
        while self.working < self.most() {
            let Some((list, side)) = self.order.next(now) else { return };
            let Some(id) = self.lists.pop(list, side) else { return };
            let waiting = self.waiting();
            let Some(waiter) = self.lists.get(id) else { return };
            let (who, guarded) = (waiter.who, waiter.guarded);
            let (waited, deadline) = (now.since(waiter.since), waiter.deadline);
            let refused = if !damper_control::deadline::can_finish(now, self.needs, deadline) {
                Some((late(who), Outcome::TimedOut))
            } else if self.rule.drops(now, waited, waiting) {
                Some((Refusal::new(Reason::WaitedTooLong, who.class), Outcome::Shed))
            } else {
                None
            };
            let heard = match refused {
                Some((refusal, outcome)) => {
                    self.order.done(now, list, Nanos::ZERO);
                    self.guard.ended(now, who, guarded, Some(outcome), &mut self.chance);
                    Now::Refused(refusal)
                }
                None => Now::Works(self.take(now, who, guarded, Some(list), waited)),
            };
            if let Some(waiter) = self.lists.get_mut(id) {
                waiter.now = heard;
                wakes.push(waiter.waker.take());
            }
        }
    }

    /// A waiting request asks. After an answer its number is no longer its own.
    pub(crate) fn hear(&mut self, id: u32, waker: &Waker) -> Heard {
        let Some(waiter) = self.lists.get_mut(id) else {
            return Heard::Refused(Refusal::new(Reason::QueueFull, 0));
        };
        match std::mem::replace(&mut waiter.now, Now::Gone) {
            Now::Waits => {
                waiter.now = Now::Waits;
                if waiter.waker.as_ref().is_none_or(|known| !known.will_wake(waker)) {
                    waiter.waker = Some(waker.clone());
                }
                Heard::Waits
            }
            Now::Works(work) => {
                self.lists.free(id);
                Heard::Works(work)
            }
            Now::Refused(refusal) => {
                self.lists.free(id);
                Heard::Refused(refusal)
            }
            // It was freed by then, so nobody comes here.
            Now::Gone => Heard::Refused(Refusal::new(Reason::QueueFull, waiter.who.class)),
        }
    }

    /// A request that came by this number goes away, whatever it has heard. `outcome`: why, if
    /// it is known.
    pub(crate) fn give_up(
        &mut self,
        now: Nanos,
        id: u32,
        outcome: Option<Outcome>,
        wakes: &mut Wakes,
    ) {
        let Some((list, waiter)) = self.lists.remove(id) else { return };
        match waiter.now {
            Now::Waits => {
                self.order.left(now, list);
                self.guard.ended(now, waiter.who, waiter.guarded, outcome, &mut self.chance);
                // It may have been what an order that holds back waited for.
                self.next(now, wakes);
            }
            // It was given the place of another and has never begun: the next one gets it.
            Now::Works(work) => self.leave(now, work, None, wakes),
            Now::Refused(_) | Now::Gone => {}
        }
    }

    /// A request that worked is done. `None`: nobody knows how it ended.
    pub(crate) fn leave(
        &mut self,
        now: Nanos,
        work: Work,
        outcome: Option<Outcome>,
        wakes: &mut Wakes,
    ) {
        self.account(now);
        self.working = self.working.saturating_sub(1);
        if let Some(list) = work.list {
            self.order.done(now, list, now.since(work.taken));
        }
        self.guard.ended(now, work.who, work.guarded, outcome, &mut self.chance);
        if let (Some(room), Some(permit)) = (&mut self.room, work.permit) {
            // The wait before this door says nothing about what is behind it: a limit that took
            // it for a sign of overload would shrink because it is small.
            room.release(now, permit, Nanos::ZERO, outcome, &mut self.chance);
        }
        self.next(now, wakes);
    }
}

fn late(who: Who) -> Refusal {
    Refusal::new(Reason::DeadlineTooClose, who.class)
}

//! The caller's side: steps, calls, timeouts, retries.

use damper_control::{
    Failure, Nanos, Outcome, Pushback, Reason, RetryBudget as _, RetryState, deadline,
};

use crate::calendar::NO_TIMER;
use crate::lanes::{Link, NO_LANE};
use crate::observe::Happened;
use crate::plan::{NEVER, Route};
use crate::server::{Door, NO_LIST, TurnedAway};
use crate::slab::NONE;
use crate::world::{Attempt, Call, Event, Ready, Stage, World, draw, who};

impl World<'_> {
    /// Makes the calls of an attempt's next step, or finishes it if there is none.
    pub(crate) fn next_step(&mut self, attempt: u32) {
        let node = &self.plan.nodes[self.attempts[attempt].node as usize];
        if node.routed {
            self.next_hop(attempt);
            return;
        }
        let (first, end) = node.steps;
        loop {
            let step = first + self.attempts[attempt].step;
            if step >= end {
                self.finished(attempt, Outcome::Success);
                return;
            }
            let (from, to) = self.plan.steps[step as usize];
            for node in from..to {
                if self.work_stream.chance(self.plan.nodes[node as usize].chance) {
                    self.start_call(attempt, node);
                }
            }
            self.attempts[attempt].step += 1;
            if self.attempts[attempt].pending > 0 {
                return;
            }
        }
    }

    /// Routing matrices: one further call, drawn from the service's row, or none.
    fn next_hop(&mut self, attempt: u32) {
        let a = &mut self.attempts[attempt];
        let row = &self.plan.routes[usize::from(a.class)]
            [self.plan.nodes[a.node as usize].service as usize];
        let next =
            if a.step == 0 && !row.is_empty() { draw(row, self.work_stream.unit()) } else { None };
        a.step = 1;
        match next {
            Some(node) => self.start_call(attempt, node),
            None => self.finished(attempt, Outcome::Success),
        }
    }

    pub(crate) fn start_call(&mut self, parent: u32, node: u32) {
        let p = &mut self.attempts[parent];
        p.pending += 1;
        let (mut class, flow, inherited, head) = (p.class, p.flow, p.deadline, p.calls);
        if self.plan.lends
            && let Some(s) =
                self.plan.services.get(self.plan.nodes[p.node as usize].service as usize)
        {
            class = s.calls_as.unwrap_or(class);
        }
        let n = &self.plan.nodes[node as usize];
        let own = self.now.saturating_add(self.plan.edges[n.edge as usize].deadline);
        let call = self.calls.insert(Call {
            parent,
            node,
            attempt: NONE,
            times_left: n.times - 1,
            state: RetryState::default(),
            deadline: own.min(inherited),
            link: Link::IDLE,
            in_lane: false,
            timer: NO_TIMER,
            key: NONE,
            next: NONE,
            previous: NONE,
            passes: NONE,
            flow,
            class,
        });
        if self.plan.cancels {
            self.calls[call].next = head;
            if head != NONE {
                self.calls[head].previous = call;
            }
            self.attempts[parent].calls = call;
        }
        self.watch.see(self.now, Happened::Called { call, parent, service: n.service });
        self.ready.push(Ready::Send(call));
    }

    /// Sends an attempt of a call, and the next at once if it is refused at once.
    pub(crate) fn send(&mut self, call: u32) {
        while self.send_one(call) {}
    }

    /// Sends one attempt; whether the next is due at this very instant.
    fn send_one(&mut self, call: u32) -> bool {
        let plan = self.plan;
        if plan.fails_over {
            self.choose_region(call);
        }
        let c = &self.calls[call];
        let node = &plan.nodes[c.node as usize];
        let edge = &plan.edges[node.edge as usize];
        let (class, flow) = (c.class, c.flow);
        let (retry, until) = (c.state.retries > 0, c.deadline);
        if until <= self.now {
            self.forgo(call);
            self.edge_stats[node.edge as usize].refused_deadline += u64::from(self.measuring);
            self.call_ended(call, Outcome::TimedOut);
            return false;
        }
        if let Route::LookAside(cache) | Route::ReadThrough(cache, _) = node.through
            && self.look_up(call, cache)
        {
            // Perhaps it was filled while a gate made this attempt wait.
            self.cancel_passes(call);
            self.forgo(call);
            self.ready.push(Ready::Ended(call, Outcome::Success, Outcome::Success));
            return false;
        }
        if (edge.gated || plan.listens) && !self.passes_gates(call) {
            return false;
        }
        if self.measuring {
            let stats = &mut self.edge_stats[node.edge as usize];
            stats.attempts += 1;
            stats.retries += u64::from(retry);
        }
        let sent = self.calls[call].state.attempt(class);
        self.budgets[node.edge as usize].start(Nanos(self.now), sent);
        let service = node.service as usize;
        let latency = self.services[service].latency;
        let arrives_now = latency == 0 && !matches!(node.through, Route::ReadThrough(..));
        let door = if arrives_now {
            self.admit(service, who(class, flow))
        } else {
            Ok(Door { station: NONE, list: NO_LIST, guard: NONE })
        };
        let door = match door {
            Ok(door) => door,
            Err(TurnedAway { outcome, station }) => {
                // Refused at the door: no attempt, no timer.
                self.watch.see(self.now, Happened::Sent { call, attempt: None });
                if plan.listens {
                    self.listen(call, station);
                }
                self.settle(call, outcome);
                return self.again(call, outcome, outcome);
            }
        };
        let timeout = (edge.timeout != NEVER).then_some(Nanos(edge.timeout));
        let bound = (until != NEVER).then_some(Nanos(until));
        let gives_up =
            deadline::gives_up_at(Nanos(self.now), timeout, bound).map_or(NEVER, |t| t.0);
        let c = &mut self.calls[call];
        let (key, at) = (c.key, c.node);
        if edge.lane != NO_LANE && gives_up == self.now.saturating_add(edge.timeout) {
            c.in_lane = true;
            let seq = self.calendar.next_seq();
            self.lanes.push(edge.lane, gives_up, seq, call, &mut self.calls);
        } else if gives_up != NEVER {
            c.timer = self.calendar.push_timer(gives_up, Event::Timeout(call));
        }
        let attempt = self.attempts.insert(Attempt {
            class,
            flow,
            key,
            station: door.station,
            list: door.list,
            guard: door.guard,
            stage: Stage::Travelling,
            deadline: if edge.travels { gives_up } else { NEVER },
            ..Attempt::new(call, at)
        });
        self.calls[call].attempt = attempt;
        self.watch.see(self.now, Happened::Sent { call, attempt: Some(attempt) });
        if let Route::ReadThrough(cache, fetch) = node.through {
            self.wait_for_fetch(attempt, cache, fetch);
        } else if latency > 0 {
            let timer =
                self.calendar.push_timer(self.now.saturating_add(latency), Event::Deliver(attempt));
            self.attempts[attempt].timer = timer;
        } else {
            self.settle_in(attempt, service);
        }
        false
    }

    /// A retry that the budget has granted is not sent after all.
    pub(crate) fn forgo(&mut self, call: u32) {
        let c = &self.calls[call];
        if c.state.retries > 0 {
            let edge = self.plan.nodes[c.node as usize].edge as usize;
            self.budgets[edge].cancel(Nanos(self.now), c.state.paid);
        }
    }

    /// The timeout of a call's attempt: the caller goes away, the service does not know.
    pub(crate) fn timed_out(&mut self, call: u32) {
        let attempt = std::mem::replace(&mut self.calls[call].attempt, NONE);
        self.clear_timer(call);
        if attempt == NONE {
            // The deadline came during a backoff: cannot be, since such a retry is refused.
            return;
        }
        self.settle(call, Outcome::TimedOut);
        self.abandon(attempt);
        self.retry_or_give_up(call, Outcome::TimedOut, Outcome::TimedOut);
    }

    /// The current attempt of a call has ended with a reply or a rejection.
    pub(crate) fn attempt_ended(&mut self, call: u32, outcome: Outcome, cause: Outcome) {
        let attempt = std::mem::replace(&mut self.calls[call].attempt, NONE);
        self.clear_timer(call);
        if attempt != NONE {
            self.settle(call, outcome);
        }
        if outcome == Outcome::Success {
            self.call_ended(call, Outcome::Success);
        } else {
            self.retry_or_give_up(call, outcome, cause);
        }
    }

    pub(crate) fn settle(&mut self, call: u32, outcome: Outcome) {
        self.watch.see(self.now, Happened::Ended { call, outcome });
        let c = &self.calls[call];
        let edge = self.plan.nodes[c.node as usize].edge as usize;
        let failure = Failure::new(c.class, outcome).pushed_back(self.pushback(call, outcome));
        let retryable = failure.counts(self.plan.edges[edge].retry.on);
        let ended = c.state.attempt(c.class);
        let rng = &mut self.control_stream.0;
        self.budgets[edge].settle(Nanos(self.now), ended, outcome, retryable, rng);
        if self.calls[call].passes != NONE {
            self.settle_passes(call, outcome);
        }
        if self.plan.fails_over {
            self.count_end(call, outcome);
        }
    }

    /// What the callee said about coming back, as far as its caller heeds it. A service that is
    /// down refuses connections, and says nothing.
    #[inline]
    fn pushback(&self, call: u32, outcome: Outcome) -> Option<Pushback> {
        let node = &self.plan.nodes[self.calls[call].node as usize];
        let said = self.plan.edges[node.edge as usize].pushback?;
        let turned_away = matches!(outcome, Outcome::Rejected | Outcome::Shed);
        (turned_away && !self.services[node.service as usize].refuse).then_some(said)
    }

    fn retry_or_give_up(&mut self, call: u32, outcome: Outcome, cause: Outcome) {
        if self.again(call, outcome, cause) {
            self.send(call);
        }
    }

    /// What follows a failed attempt: another one at this very instant (yes), later, or the end.
    #[inline]
    fn again(&mut self, call: u32, outcome: Outcome, cause: Outcome) -> bool {
        let edge = self.plan.nodes[self.calls[call].node as usize].edge as usize;
        let pushback = self.pushback(call, outcome);
        let c = &mut self.calls[call];
        let bound = (c.deadline != NEVER).then_some(Nanos(c.deadline));
        let policy = &self.plan.edges[edge];
        let failure = Failure { pushback, needs: policy.needs, ..Failure::new(c.class, outcome) };
        let decision = policy.retry.decide_with(
            &mut c.state,
            &mut self.budgets[edge],
            failure,
            Nanos(self.now),
            bound,
            &mut self.control_stream.0,
        );
        match decision {
            Ok(Nanos(0)) => return true,
            Ok(delay) => {
                self.backing_off += 1;
                let at = self.now.saturating_add(delay.0);
                c.timer = self.calendar.push_timer(at, Event::Backoff(call));
            }
            Err(refusal) => {
                if self.measuring {
                    let stats = &mut self.edge_stats[edge];
                    match refusal.reason {
                        Reason::LimitReached => stats.refused_limit += 1,
                        Reason::BudgetExhausted => stats.refused_budget += 1,
                        Reason::DeadlineTooClose => stats.refused_deadline += 1,
                        Reason::PushedBack => stats.refused_pushback += 1,
                        _ => {}
                    }
                }
                self.call_ended(call, cause);
            }
        }
        false
    }

    /// A call has ended for good.
    pub(crate) fn call_ended(&mut self, call: u32, cause: Outcome) {
        let c = &mut self.calls[call];
        let parent = c.parent;
        if cause == Outcome::Success && c.times_left > 0 {
            c.times_left -= 1;
            c.state = RetryState::default();
            c.key = NONE;
            let edge = self.plan.nodes[c.node as usize].edge as usize;
            let own = self.now.saturating_add(self.plan.edges[edge].deadline);
            c.deadline = own.min(self.attempts[parent].deadline);
            let service = self.plan.nodes[c.node as usize].service;
            self.watch.see(self.now, Happened::Called { call, parent, service });
            self.ready.push(Ready::Send(call));
            return;
        }
        self.unlink(call);
        self.calls.free(call);
        let p = &mut self.attempts[parent];
        p.pending -= 1;
        if p.cause == Outcome::Success {
            p.cause = cause;
        }
        if p.pending > 0 {
            return;
        }
        if p.cause == Outcome::Success {
            self.next_step(parent);
        } else {
            let cause = p.cause;
            self.finished(parent, cause);
        }
    }

    pub(crate) fn clear_timer(&mut self, call: u32) {
        let c = &mut self.calls[call];
        if c.in_lane {
            c.in_lane = false;
            let edge = self.plan.nodes[c.node as usize].edge as usize;
            self.lanes.remove(self.plan.edges[edge].lane, call, &mut self.calls);
        } else if c.timer != NO_TIMER {
            let timer = std::mem::replace(&mut c.timer, NO_TIMER);
            self.calendar.cancel(timer);
        }
    }

    fn unlink(&mut self, call: u32) {
        if !self.plan.cancels {
            return;
        }
        let Call { parent, next, previous, .. } = self.calls[call];
        if next != NONE {
            self.calls[next].previous = previous;
        }
        if previous == NONE {
            self.attempts[parent].calls = next;
        } else {
            self.calls[previous].next = next;
        }
    }

    /// Cancels one of the calls that an attempt has open, and returns the attempt that it waited
    /// for, `NONE` between attempts. `None`: no call is open.
    pub(crate) fn cancel_call(&mut self, attempt: u32) -> Option<u32> {
        let call = self.attempts[attempt].calls;
        if call == NONE {
            return None;
        }
        let below = self.calls[call].attempt;
        if below == NONE && self.calls[call].timer != NO_TIMER {
            self.backing_off -= 1;
            self.forgo(call);
        }
        self.clear_timer(call);
        if below != NONE {
            // Nobody saw it fail: the budget gets its place back and counts no failure.
            let c = &self.calls[call];
            let edge = self.plan.nodes[c.node as usize].edge as usize;
            let ended = c.state.attempt(c.class);
            let rng = &mut self.control_stream.0;
            self.budgets[edge].settle(Nanos(self.now), ended, Outcome::TimedOut, false, rng);
        }
        self.cancel_passes(call);
        self.unlink(call);
        self.calls.free(call);
        self.attempts[attempt].pending -= 1;
        // News for this very call may still be on its way at this instant.
        self.ready.retain(|r| !matches!(r, Ready::Ended(c, ..) | Ready::Send(c) if *c == call));
        Some(below)
    }
}

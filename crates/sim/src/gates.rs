//! What a caller asks before it sends: the word of the callee, its breaker, its throttle.

use damper_control::gate::{Admit as _, Gate, Pass};
use damper_control::{Nanos, Outcome};
use damper_system::model::Policy;

use crate::plan::NEVER;
use crate::slab::NONE;
use crate::world::{Event, World, who};

/// How long a caller believes what a callee said about whom it lets in. A callee that lets in
/// nobody of this caller could otherwise never say anything else.
const BELIEVES: u64 = 1_000_000_000;

/// The gates of one edge.
#[derive(Clone, Debug)]
pub(crate) struct EdgeGates {
    throttle: Option<Gate>,
    breaker: Option<Gate>,
    /// The highest rank that the callee lets in, as it said, and until when that is believed.
    told: (u32, u64),
}

/// What the gates gave to the attempt of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passes {
    throttle: Option<Pass>,
    breaker: Option<Pass>,
    /// `NEVER`: it still waits.
    sent: u64,
}

impl EdgeGates {
    pub(crate) fn new(policy: &Policy) -> Self {
        let gate = |spec: &Option<damper_system::model::Spec<Gate>>| {
            spec.as_ref().map(|s| s.initial.clone()).filter(|g| !g.is_open())
        };
        Self {
            throttle: gate(&policy.throttle),
            breaker: gate(&policy.breaker),
            told: (u32::MAX, 0),
        }
    }

    pub(crate) fn any(&self) -> bool {
        self.throttle.is_some() || self.breaker.is_some()
    }
}

impl World<'_> {
    /// Whether the gates of a call's edge let its next attempt be sent now. If not, it has been
    /// refused, or waits.
    pub(crate) fn passes_gates(&mut self, call: u32) -> bool {
        let c = &self.calls[call];
        if c.passes != NONE {
            // It has waited for this.
            self.passes[c.passes].sent = self.now;
            return true;
        }
        let edge = self.plan.nodes[c.node as usize].edge as usize;
        let (class, until) = (c.class, c.deadline);
        let now = Nanos(self.now);
        let rank = who(class, c.flow).rank_at(now);
        let gates = &mut self.gates[edge];
        if rank > gates.told.0 && self.now < gates.told.1 {
            self.edge_stats[edge].refused_word += u64::from(self.measuring);
            self.refused_by_gate(call);
            return false;
        }
        if !self.plan.edges[edge].gated {
            return true;
        }
        let rng = &mut self.control_stream.0;
        let breaker = gates.breaker.as_mut().map(|g| g.admit(now, class, rng)).transpose();
        let Ok(breaker) = breaker else {
            self.edge_stats[edge].refused_breaker += u64::from(self.measuring);
            self.refused_by_gate(call);
            return false;
        };
        let throttle = gates.throttle.as_mut().map(|g| g.admit(now, class, rng)).transpose();
        let Ok(throttle) = throttle else {
            if let (Some(gate), Some(pass)) = (&mut gates.breaker, breaker) {
                gate.cancel(now, pass);
            }
            self.edge_stats[edge].refused_throttle += u64::from(self.measuring);
            self.refused_by_gate(call);
            return false;
        };
        let wait = [breaker, throttle].into_iter().flatten().map(|p| p.wait.0).max().unwrap_or(0);
        let sent = if wait == 0 { self.now } else { NEVER };
        let passes = self.passes.insert(Passes { throttle, breaker, sent });
        self.calls[call].passes = passes;
        if wait == 0 {
            return true;
        }
        let at = self.now.saturating_add(wait);
        if at >= until {
            self.cancel_passes(call);
            self.forgo(call);
            self.edge_stats[edge].refused_deadline += u64::from(self.measuring);
            self.call_ended(call, Outcome::TimedOut);
            return false;
        }
        self.backing_off += 1;
        self.calls[call].timer = self.calendar.push_timer(at, Event::Backoff(call));
        false
    }

    fn refused_by_gate(&mut self, call: u32) {
        self.forgo(call);
        self.call_ended(call, Outcome::Shed);
    }

    /// The attempt of a call has ended: its gates learn how.
    pub(crate) fn settle_passes(&mut self, call: u32, outcome: Outcome) {
        let Some((edge, passes)) = self.take_passes(call) else {
            return;
        };
        let now = Nanos(self.now);
        let latency = now.since(Nanos(passes.sent));
        let gates = &mut self.gates[edge];
        let rng = &mut self.control_stream.0;
        for (gate, pass) in
            [(&mut gates.throttle, passes.throttle), (&mut gates.breaker, passes.breaker)]
        {
            if let (Some(gate), Some(pass)) = (gate, pass) {
                gate.settle(now, pass, outcome, latency, rng);
            }
        }
    }

    /// The attempt of a call was never sent, or nobody saw how it ended.
    pub(crate) fn cancel_passes(&mut self, call: u32) {
        let Some((edge, passes)) = self.take_passes(call) else {
            return;
        };
        let now = Nanos(self.now);
        let gates = &mut self.gates[edge];
        for (gate, pass) in
            [(&mut gates.throttle, passes.throttle), (&mut gates.breaker, passes.breaker)]
        {
            if let (Some(gate), Some(pass)) = (gate, pass) {
                gate.cancel(now, pass);
            }
        }
    }

    fn take_passes(&mut self, call: u32) -> Option<(usize, Passes)> {
        let c = &mut self.calls[call];
        let passes = std::mem::replace(&mut c.passes, NONE);
        let edge = self.plan.nodes[c.node as usize].edge as usize;
        if passes == NONE {
            return None;
        }
        let given = self.passes[passes];
        self.passes.free(passes);
        Some((edge, given))
    }

    /// An instance has answered: what it says about itself goes to the caller's controls. `NONE`:
    /// the attempt was turned away before it came to one, by something that knows none.
    pub(crate) fn listen(&mut self, call: u32, station: u32) {
        if station == NONE {
            return;
        }
        let node = &self.plan.nodes[self.calls[call].node as usize];
        let (edge, s) = (node.edge as usize, node.service as usize);
        if self.says_overloaded(s, station) {
            damper_control::RetryBudget::overloaded(&mut self.budgets[edge], Nanos(self.now));
        }
        if let Some(rank) = self.threshold(station) {
            self.gates[edge].told = (rank, self.now.saturating_add(BELIEVES));
        }
    }
}

//! What a closed breaker remembers.

use alloc::boxed::Box;
use alloc::vec;

use super::{BreakerRule, Trip};
use crate::Nanos;
use crate::gate::window::Window;

const FAILED: u8 = 1;
const SLOW: u8 = 2;

/// What a closed breaker remembers.
#[derive(Clone, Debug)]
pub(super) enum History {
    Calls(Ring),
    /// Calls, failures, slow calls.
    Time(Window<3>),
    InARow(u32),
}

/// How the last calls ended.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    ends: Box<[u8]>,
    next: usize,
    calls: u32,
    failed: u32,
    slow: u32,
}

impl Ring {
    fn record(&mut self, end: u8) {
        let old = core::mem::replace(&mut self.ends[self.next], end);
        if self.calls as usize == self.ends.len() {
            self.failed -= u32::from(old & FAILED != 0);
            self.slow -= u32::from(old & SLOW != 0);
        } else {
            self.calls += 1;
        }
        self.failed += u32::from(end & FAILED != 0);
        self.slow += u32::from(end & SLOW != 0);
        self.next = (self.next + 1) % self.ends.len();
    }
}

impl History {
    pub(super) fn new(rule: &BreakerRule) -> Self {
        match rule.trip {
            Trip::Calls(n) => Self::Calls(Ring {
                ends: vec![0; n as usize].into(),
                next: 0,
                calls: 0,
                failed: 0,
                slow: 0,
            }),
            Trip::Time(span, slices) => Self::Time(Window::new(span, slices.into())),
            Trip::InARow(_) => Self::InARow(0),
        }
    }

    pub(super) fn record(&mut self, now: Nanos, failed: bool, slow: bool) {
        match self {
            Self::Calls(ring) => {
                ring.record(if failed { FAILED } else { 0 } | if slow { SLOW } else { 0 });
            }
            Self::Time(window) => window.add(now, [1, failed.into(), slow.into()]),
            Self::InARow(n) => *n = if failed { n.saturating_add(1) } else { 0 },
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            // What the ring holds is only read once it is full again.
            Self::Calls(ring) => (ring.next, ring.calls, ring.failed, ring.slow) = (0, 0, 0, 0),
            Self::Time(window) => window.clear(),
            Self::InARow(n) => *n = 0,
        }
    }

    fn sums(&self) -> [u64; 3] {
        match self {
            Self::Calls(ring) => [ring.calls, ring.failed, ring.slow].map(u64::from),
            Self::Time(window) => window.sums(),
            Self::InARow(n) => [u64::from(*n), u64::from(*n), 0],
        }
    }

    fn enough(&self, rule: &BreakerRule, calls: u64) -> bool {
        let min = match self {
            Self::Calls(ring) => u64::from(rule.min_calls).min(ring.ends.len() as u64),
            _ => u64::from(rule.min_calls),
        };
        calls >= min
    }

    pub(super) fn trips(&self, rule: &BreakerRule) -> bool {
        let [calls, failed, slow] = self.sums();
        match rule.trip {
            Trip::InARow(n) => failed >= u64::from(n),
            Trip::Calls(_) | Trip::Time(..) => {
                self.enough(rule, calls) && rule.exceeded(calls, failed, slow)
            }
        }
    }

    pub(super) fn observe(&self, rule: &BreakerRule, see: &mut dyn FnMut(&'static str, f64)) {
        let [calls, failed, slow] = self.sums();
        if let Self::InARow(n) = self {
            see("in_a_row", f64::from(*n));
            return;
        }
        let percent = |n: u64| {
            if calls > 0 && self.enough(rule, calls) {
                n as f64 * 100.0 / calls as f64
            } else {
                -1.0
            }
        };
        see("calls", calls as f64);
        see("failure_rate", percent(failed));
        see("slow_rate", percent(slow));
    }
}

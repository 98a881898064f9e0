//! No gate: every attempt is sent.
//!
//! Source: what a client does when nobody has said anything.

use rand_core::Rng;

use super::{Admit, Gate, Pass};
use crate::entry::{Build, Entry, Kind};
use crate::observe::Observe;
use crate::{Nanos, Refusal};

/// Always open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open;

pub(super) const THROTTLE: Entry = Entry {
    name: "no-throttle",
    kind: Kind::Throttle,
    summary: "no throttle: every attempt is sent",
    source: "what a client does when nobody has said anything",
    rule: "send = true",
    when: "Where the callee protects itself, or retries alone are bounded.",
    traps: &[],
    parameters: &[],
    readings: &[],
    build: Build::Gate(|p| p.is_empty().then_some(Gate::OPEN)),
};

pub(super) const BREAKER: Entry = Entry {
    name: "no-breaker",
    kind: Kind::Breaker,
    summary: "no breaker: attempts are sent whatever the callee does",
    ..THROTTLE
};

impl Admit for Open {
    #[inline]
    fn admit<R: Rng + ?Sized>(&mut self, _: Nanos, _: u8, _: &mut R) -> Result<Pass, Refusal> {
        Ok(Pass::default())
    }
}

impl Observe for Open {
    fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

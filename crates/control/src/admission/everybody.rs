//! No admission rule: everybody is let in as far as there is room.
//!
//! Source: what a service does when nobody has said anything.

use rand_core::Rng;

use super::{Admission, AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind};
use crate::observe::Observe;
use crate::who::Who;
use crate::{Nanos, Refusal};

/// Lets everybody in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Everybody;

pub(super) const ENTRY: Entry = Entry {
    name: "everybody",
    kind: Kind::Admission,
    summary: "lets everybody in as far as there is room",
    source: "what a service does when nobody has said anything",
    rule: "admit = true",
    when: "Where the queue is short, or callers are known to hold back.",
    traps: &[],
    parameters: &[],
    readings: &[],
    build: Build::Admission(|p| p.is_empty().then_some(Admission::EVERYBODY)),
};

impl AdmissionRule for Everybody {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        _: Nanos,
        _: Who,
        _: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        Ok(())
    }
}

impl Observe for Everybody {
    fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

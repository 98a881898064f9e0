//! No drop rule: whoever waits is served, however late.
//!
//! Source: what a queue does when nobody has said anything.

use super::{DropFrom, DropRule};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind};
use crate::observe::Observe;

/// Drops nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep;

pub(super) const ENTRY: Entry = Entry {
    name: "keep",
    kind: Kind::Drop,
    summary: "drops nothing: whoever waits is served, however late",
    source: "what a queue does when nobody has said anything",
    rule: "drop = false",
    when: "Where the queue is so short that whoever waits in it is served in time.",
    traps: &["A long queue without a drop rule works for callers who have left."],
    parameters: &[],
    readings: &[],
    build: Build::Drop(|p| p.is_empty().then_some(DropRule::Keep(Keep))),
};

impl DropFrom for Keep {
    #[inline]
    fn drops(&mut self, _: Nanos, _: Nanos, _: u32) -> bool {
        false
    }
}

impl Observe for Keep {
    fn observe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

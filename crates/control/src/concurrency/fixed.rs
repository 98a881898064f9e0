//! A fixed concurrency limit.
//!
//! Source: the bulkhead; Envoy's `max_requests`, resilience4j's Bulkhead, tower's
//! `ConcurrencyLimit`.

use rand_core::Rng;

use super::{ConcurrencyLimit, Sample};
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};

/// A limit that somebody chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(u32);

pub(super) const ENTRY: Entry = Entry {
    name: "fixed",
    kind: Kind::Concurrency,
    summary: "a fixed number of attempts in flight",
    source: "the bulkhead; Envoy max_requests (default 1024), resilience4j Bulkhead (25)",
    rule: "admit = in_flight < limit",
    when: "When capacity is known and does not change: a pool of workers plus a short queue. \
           Right it is the best of all limits; wrong it is a queue or an idle machine.",
    traps: &[
        "A limit far above capacity × timeout does nothing: work is late before it is refused.",
    ],
    parameters: &[Parameter {
        name: "limit",
        unit: Unit::Count,
        default: 1024.0,
        min: 1.0,
        max: 1_000_000.0,
        doc: "attempts in flight, queued ones included",
    }],
    readings: &[Reading::gauge("limit", "attempts that may be in flight")],
    build: Build::Concurrency(|p| match *p {
        [limit] => Fixed::try_new(whole(limit)?).map(Into::into),
        _ => None,
    }),
};

impl Fixed {
    /// A limit of at least one and at most a million. `None` otherwise.
    #[must_use]
    pub fn try_new(limit: u32) -> Option<Self> {
        (1..=1_000_000).contains(&limit).then_some(Self(limit))
    }
}

impl ConcurrencyLimit for Fixed {
    #[inline]
    fn limit(&self) -> u32 {
        self.0
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, _: Nanos, _: &Sample, _: &mut R) {}
}

impl Observe for Fixed {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.0));
    }
}

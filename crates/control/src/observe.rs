//! What a control shows: counters that only grow, and gauges of its state.
//!
//! A budget that is configured and never denies anything is the fault that nobody sees
//! (grpc-java issue 11274), so every control names what it counts in its
//! [`Entry`](crate::Entry), and a test compares the names with what it reports.

/// How a reading behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Only grows: events since the control was made.
    Counter,
    /// The state now.
    Gauge,
}

/// One reading that a control reports.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Its name, with its unit if it has one (`limit`, `denied`, `min_rtt_s`).
    pub name: &'static str,
    /// Counter or gauge.
    pub metric: Metric,
    /// What it says.
    pub doc: &'static str,
}

impl Reading {
    /// A counter.
    #[must_use]
    pub const fn counter(name: &'static str, doc: &'static str) -> Self {
        Self { name, metric: Metric::Counter, doc }
    }

    /// A gauge.
    #[must_use]
    pub const fn gauge(name: &'static str, doc: &'static str) -> Self {
        Self { name, metric: Metric::Gauge, doc }
    }
}

/// A snapshot of a control.
pub trait Observe {
    /// Calls `see` once for every reading that its entry names, in that order.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64));
}

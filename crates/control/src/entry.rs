//! What a control says about itself: its row in the registry and its page in the docs.

mod page;

use crate::admission::Admission;
use crate::concurrency::Limit;
use crate::gate::Gate;
use crate::observe::Reading;
use crate::queue::{DropRule, Order};
use crate::{Backoff, Budget};

/// What a control is for, which is also where the system file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// How many retries one call may have.
    Limit,
    /// When a retry is sent: `retry.backoff`.
    Backoff,
    /// How many retries all calls of a caller may have: `retry.budget`.
    Budget,
    /// Slows or refuses a caller's own attempts before they are sent: `throttle`.
    Throttle,
    /// Refuses attempts to a callee that fails: `breaker`.
    Breaker,
    /// How much a service works on at the same time: `concurrency`.
    Concurrency,
    /// Which waiting attempt is next: `order`.
    Order,
    /// Which waiting attempts are dropped: `drop`.
    Drop,
    /// Whom a service lets in: `admission`.
    Admission,
    /// When a service says OVERLOADED: `overloaded`.
    Overload,
    /// What an operator pulls: `lever`.
    Lever,
}

impl Kind {
    /// Every kind, in the order in which an attempt meets them.
    pub const ALL: [Self; 11] = [
        Self::Limit,
        Self::Backoff,
        Self::Budget,
        Self::Throttle,
        Self::Breaker,
        Self::Admission,
        Self::Concurrency,
        Self::Order,
        Self::Drop,
        Self::Overload,
        Self::Lever,
    ];

    /// Its key in the system file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Backoff => "backoff",
            Self::Budget => "budget",
            Self::Throttle => "throttle",
            Self::Breaker => "breaker",
            Self::Concurrency => "concurrency",
            Self::Order => "order",
            Self::Drop => "drop",
            Self::Admission => "admission",
            Self::Overload => "overloaded",
            Self::Lever => "lever",
        }
    }

    /// Where it stands in a system file.
    #[must_use]
    pub const fn place(self) -> &'static str {
        match self {
            Self::Limit => "policies.NAME.retry.limit",
            Self::Backoff => "policies.NAME.retry.backoff",
            Self::Budget => "policies.NAME.retry.budget",
            Self::Throttle => "policies.NAME.throttle",
            Self::Breaker => "policies.NAME.breaker",
            Self::Concurrency => "services.NAME.concurrency",
            Self::Order => "services.NAME.order",
            Self::Drop => "services.NAME.drop",
            Self::Admission => "services.NAME.admission",
            Self::Overload => "services.NAME.overloaded",
            Self::Lever => "services.NAME.lever",
        }
    }
}

/// The unit of a parameter: how the system file writes it, and what the constructor sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A whole number.
    Count,
    /// A number without a unit.
    Number,
    /// A percentage, written `20%`; the constructor sees 20.0.
    Percent,
    /// A duration, written `5ms`; the constructor sees seconds.
    Duration,
    /// A rate, written `300/s`; the constructor sees events per second.
    Rate,
    /// `true` or `false`; the constructor sees 1.0 or 0.0.
    Flag,
}

impl Unit {
    /// What to call it: the unit in which the constructor sees the value.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Number => "number",
            Self::Percent => "%",
            Self::Duration => "s",
            Self::Rate => "1/s",
            Self::Flag => "flag",
        }
    }
}

/// One parameter of a control.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key in the system file.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The published default, as the constructor sees it.
    pub default: f64,
    /// The smallest value allowed, as the constructor sees it.
    pub min: f64,
    /// The largest value allowed, as the constructor sees it.
    pub max: f64,
    /// What it does.
    pub doc: &'static str,
}

/// Makes a control in its initial state from its parameters, in the order of
/// [`Entry::parameters`]; `None` if a value is out of range or two do not go together.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Build {
    /// Has a section of its own in the system file.
    Section,
    /// A backoff schedule.
    Backoff(fn(&[f64]) -> Option<Backoff>),
    /// A retry budget.
    Budget(fn(&[f64]) -> Option<Budget>),
    /// A throttle or a breaker.
    Gate(fn(&[f64]) -> Option<Gate>),
    /// A concurrency limit.
    Concurrency(fn(&[f64]) -> Option<Limit>),
    /// An order of service.
    Order(fn(&[f64]) -> Option<Order>),
    /// A rule that drops from a queue.
    Drop(fn(&[f64]) -> Option<DropRule>),
    /// A rule at the door.
    Admission(fn(&[f64]) -> Option<Admission>),
}

/// A control: its row in the registry, and all that its page says.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its `kind:` in the system file; unique in the registry.
    pub name: &'static str,
    /// What it is for.
    pub kind: Kind,
    /// One line for people, without a full stop.
    pub summary: &'static str,
    /// Where the rule comes from, with the issue numbers of its known faults.
    pub source: &'static str,
    /// The rule as formulas or pseudo-code, as implemented.
    pub rule: &'static str,
    /// When to use it, and when not.
    pub when: &'static str,
    /// What surprises people.
    pub traps: &'static [&'static str],
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// What it counts and shows.
    pub readings: &'static [Reading],
    /// How to make one.
    pub build: Build,
}

impl Entry {
    /// The defaults of its parameters, in order.
    pub fn defaults(&self) -> impl Iterator<Item = f64> {
        self.parameters.iter().map(|p| p.default)
    }
}

/// A whole number of a parameter, if it is one and fits.
#[must_use]
pub(crate) fn whole(x: f64) -> Option<u32> {
    (x >= 0.0 && x <= f64::from(u32::MAX) && f64::from(x as u32) == x).then_some(x as u32)
}

/// A duration of a parameter in seconds; `None` if negative, infinite or not a number.
#[must_use]
pub(crate) fn seconds(x: f64) -> Option<crate::Nanos> {
    (x >= 0.0 && x.is_finite()).then(|| crate::Nanos::from_secs_f64(x))
}

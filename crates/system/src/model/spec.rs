//! A control by name, with its parameters.

use damper_control::admission::Admission;
use damper_control::concurrency::Limit;
use damper_control::entry::{Build, Entry};
use damper_control::gate::Gate;
use damper_control::queue::{DropRule, Order};
use damper_control::{Backoff, Budget, registry};

/// A control of the registry in its initial state.
#[derive(Clone)]
pub struct Spec<T> {
    /// Its name in the registry.
    pub kind: &'static str,
    /// Its parameters, in the registry's order.
    pub parameters: Vec<f64>,
    /// In its initial state.
    pub initial: T,
}

impl<T> std::fmt::Debug for Spec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut tuple = f.debug_tuple(self.kind);
        for parameter in &self.parameters {
            tuple.field(parameter);
        }
        tuple.finish()
    }
}

impl<T> PartialEq for Spec<T> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.parameters == other.parameters
    }
}

impl<T: Made> Spec<T> {
    /// A control with these parameters. `None` if they are out of range, or if the entry is of
    /// another kind.
    #[must_use]
    pub fn new(entry: &'static Entry, parameters: Vec<f64>) -> Option<Self> {
        let initial = T::make(&entry.build, &parameters)?;
        Some(Self { kind: entry.name, parameters, initial })
    }

    /// A control of this name with its defaults. `None` if there is none of this kind.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let entry = registry::find(name)?;
        Self::new(entry, entry.defaults().collect())
    }
}

impl Spec<Budget> {
    /// No budget.
    #[must_use]
    pub fn none() -> Self {
        Self { kind: "none", parameters: Vec::new(), initial: Budget::NONE }
    }

    /// Retries for each first attempt that it permits for ever while every attempt fails, beside
    /// the limits of the classes. `None`: it has no bound. A minimum per second is not in it.
    #[must_use]
    pub fn retries_while_all_fail(&self) -> Option<f64> {
        let share = |i: usize| self.parameters.get(i).copied().unwrap_or(0.0) / 100.0;
        match self.kind {
            "none" => None,
            // A share r of what is in flight, the retries themselves included.
            "envoy" | "ratio" | "google" => Some(part(share(0), 1.0)),
            // The same where a retry counts twice on the side of the requests.
            "failsafe" => Some(part(share(0), 2.0)),
            "deposit" => Some(share(0)),
            // Emptied by failures, fed by successes alone, or a number per minute: while
            // everything fails nothing is left, but for a minimum per second.
            _ => Some(0.0),
        }
    }
}

impl Spec<Order> {
    /// First in, first out.
    #[must_use]
    pub fn fifo() -> Self {
        let initial = Order::Fifo(damper_control::queue::Fifo::default());
        Self { kind: "fifo", parameters: Vec::new(), initial }
    }
}

/// What a registry entry can make.
pub trait Made: Sized {
    /// Makes one. `None` if the parameters are out of range, or if the entry makes something else.
    fn make(build: &Build, parameters: &[f64]) -> Option<Self>;
}

macro_rules! made {
    ($($control:ty = $variant:ident),* $(,)?) => {
        $(impl Made for $control {
            fn make(build: &Build, parameters: &[f64]) -> Option<Self> {
                match build {
                    Build::$variant(make) => make(parameters),
                    _ => None,
                }
            }
        })*
    };
}

made! {
    Backoff = Backoff,
    Budget = Budget,
    Gate = Gate,
    Limit = Concurrency,
    Order = Order,
    DropRule = Drop,
    Admission = Admission,
}

/// Retries for each first attempt where they are the share r of all: r / (1 - n r).
fn part(share: f64, n: f64) -> f64 {
    let rest = 1.0 - n * share;
    if rest > 0.0 { share / rest } else { f64::INFINITY }
}

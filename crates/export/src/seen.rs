//! What runs: for each call of a system, what configuration says of it after defaults.

use damper_config::effective::{Applied, Caller, Effective, Hop};
use damper_config::layer::{Budget, Origin, Seat};
use damper_config::reading::{Fact, HeaderRoute, Reading, What};
use damper_config::{Failures, Layer, Name};

use crate::asked::Edge;
use crate::format::LONGEST;
use crate::loss::Meaning;

/// How many attempts a call makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// At least so many.
    pub(crate) low: u32,
    /// At most so many; `None`: no end, or none that can be told.
    pub(crate) high: Option<u32>,
}

/// Where a single attempt comes from.
const NOTHING: &str = "nothing retries it";

impl Attempts {
    const ONE: Self = Self { low: 1, high: Some(1) };

    /// With so many retries after the first; the greatest number is no end.
    pub(crate) fn after(limit: u32) -> Self {
        let all = limit.saturating_add(1);
        Self { low: all, high: (all < u32::MAX).then_some(all) }
    }

    /// In words.
    pub(crate) fn words(self) -> String {
        match (self.low, self.high) {
            (low, Some(high)) if low == high => low.to_string(),
            (low, Some(high)) => format!("{low} to {high}"),
            (u32::MAX, None) => "no end".to_owned(),
            (low, None) => format!("{low} or more"),
        }
    }

    /// Both, one around the other.
    fn times(self, other: Self) -> Self {
        let high = match (self.high, other.high) {
            (Some(a), Some(b)) => Some(a.saturating_mul(b)),
            _ => None,
        };
        Self { low: self.low.saturating_mul(other.low), high }
    }
}

/// A value with where it is said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said<T> {
    pub(crate) value: T,
    pub(crate) from: String,
}

/// What runs for a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Whether any file speaks of the call.
    pub(crate) known: bool,
    /// Attempts in total, by class of the system.
    pub(crate) attempts: Vec<Said<Attempts>>,
    /// The layers that act for the class with the most attempts, the outermost first.
    pub(crate) layers: Vec<Applied>,
    /// What they retry.
    pub(crate) on: Failures,
    /// The longest one attempt may take, in milliseconds.
    pub(crate) attempt_ms: Option<Said<f64>>,
    /// The longest all may take, in milliseconds.
    pub(crate) overall_ms: Option<Said<f64>>,
    /// What limits retries across requests.
    pub(crate) budget: Option<Said<Budget>>,
}

/// All that was read.
pub(crate) struct World<'a> {
    pub(crate) effective: &'a Effective,
    pub(crate) routes: Vec<&'a HeaderRoute>,
    /// Timeouts of calls that nothing retries, with their files.
    pub(crate) timeouts: Vec<(&'a (String, Reading), &'a Fact)>,
    pub(crate) header: &'a str,
}

impl<'a> World<'a> {
    pub(crate) fn of(
        readings: &'a [(String, Reading)],
        effective: &'a Effective,
        header: &'a str,
    ) -> Self {
        let routes = readings.iter().flat_map(|(_, reading)| &reading.routes).collect();
        let timeout = |fact: &&Fact| matches!(fact.what, What::Timeout { .. });
        let timeouts = readings
            .iter()
            .flat_map(|file| file.1.facts.iter().filter(timeout).map(move |fact| (file, fact)));
        Self { effective, routes, timeouts: timeouts.collect(), header }
    }

    /// The hop of a call: by its caller, or whoever calls, where no file says who.
    pub(crate) fn hop(&self, caller: &str, callee: &str) -> Option<&'a Hop> {
        let to = || self.effective.hops.iter().filter(|hop| hop.callee.service == callee);
        let by =
            |hop: &&Hop| matches!(&hop.caller, Caller::Service(name) if name.service == caller);
        let outside = caller == crate::format::CLIENT;
        to().find(by)
            .or_else(|| to().find(|hop| outside && hop.caller == Caller::Outside))
            .or_else(|| to().find(|hop| hop.caller == Caller::Anyone))
    }

    /// What runs for a call.
    pub(crate) fn see(&self, edge: &Edge<'_>) -> Seen {
        let Some(hop) = self.hop(edge.caller, &edge.server.name) else {
            let overall_ms = self.told(edge);
            let known = overall_ms.is_some();
            let from = if known { NOTHING } else { "no file speaks of this call" };
            let one = Said { value: Attempts::ONE, from: from.to_owned() };
            let attempts = vec![one; edge.classes.len()];
            let mut seen = Seen { known, attempts, overall_ms, ..Seen::default() };
            seen.bound();
            return seen;
        };
        let by_class: Vec<Vec<&Applied>> =
            edge.classes.iter().map(|class| self.of_class(hop, edge, class)).collect();
        let attempts: Vec<Said<Attempts>> = by_class.iter().map(|all| product(all)).collect();
        let most = attempts
            .iter()
            .enumerate()
            .max_by_key(|(at, said)| (said.value.high.unwrap_or(u32::MAX), std::cmp::Reverse(*at)));
        let layers = most.and_then(|(at, _)| by_class.get(at)).cloned().unwrap_or_default();
        let mut seen = Seen { known: true, attempts, ..Seen::default() };
        for applied in &layers {
            let layer = &applied.layer;
            if layer.retries() {
                seen.on.add(layer.on.value);
            }
            let told = |from: &Origin| place(from, applied);
            if let Some(ms) = &layer.attempt_timeout_ms {
                seen.attempt_ms = Some(Said { value: ms.value, from: told(&ms.from) });
            }
            if let (Some(ms), None) = (&layer.timeout_ms, &seen.overall_ms) {
                seen.overall_ms = Some(Said { value: ms.value, from: told(&ms.from) });
            }
            if let (Some(budget), None) = (&layer.budget, &seen.budget) {
                seen.budget = Some(Said { value: budget.value.clone(), from: told(&budget.from) });
            }
        }
        if layers.is_empty() {
            seen.overall_ms = self.told(edge);
        }
        seen.layers = layers.into_iter().cloned().collect();
        seen.bound();
        seen
    }

    /// The timeout of a call that nothing retries.
    fn told(&self, edge: &Edge<'_>) -> Option<Said<f64>> {
        let callee = edge.server.name.as_str();
        // What a file says of nobody is about those that its routes call.
        let about = |reading: &Reading, fact: &Fact| match &fact.about {
            Some(name) => name.service == callee,
            None => reading.calls.iter().any(|call| call.callee.service == callee),
        };
        self.timeouts.iter().find_map(|((path, reading), fact)| {
            let What::Timeout { attempt_ms, overall_ms } = fact.what else { return None };
            let mine = about(reading, fact) && speaks_of(reading, edge.caller);
            let value = overall_ms.or(attempt_ms).filter(|_| mine)?;
            Some(Said { value, from: format!("{path}:{}", fact.lines[0]) })
        })
    }

    /// The layers that a request of a class passes.
    fn of_class<'b>(&self, hop: &'b Hop, edge: &Edge<'_>, class: &str) -> Vec<&'b Applied> {
        let mut all = Vec::new();
        let mut seats: Vec<Seat> = hop.layers.iter().map(|one| one.layer.seat).collect();
        seats.dedup();
        for seat in seats {
            let mut here: Vec<&Applied> =
                hop.layers.iter().filter(|one| one.layer.seat == seat && !harmless(one)).collect();
            // What is said for a caller outweighs what is said for everybody.
            if here.iter().any(|one| one.layer.caller.is_some()) {
                here.retain(|one| one.layer.caller.is_some());
            }
            let own: Vec<&Applied> =
                here.iter().copied().filter(|one| self.class(&one.layer) == Some(class)).collect();
            if !own.is_empty() {
                all.extend(own);
            } else if !self.has_route(edge, class, seat) {
                all.extend(here.into_iter().filter(|one| self.class(&one.layer).is_none()));
            }
        }
        all
    }

    /// The class that a layer is for.
    fn class<'b>(&'b self, layer: &'b Layer) -> Option<&'b str> {
        let value = |headers: &'b [(String, String)]| {
            headers.iter().find(|(name, _)| name == self.header).map(|(_, value)| value.as_str())
        };
        value(&layer.headers).or_else(|| {
            let object = layer.route.as_deref()?;
            let mut routes = self.routes.iter();
            value(&routes.find(|one| one.object.as_deref() == Some(object))?.headers)
        })
    }

    /// Whether requests of a class have a route of their own to a service, where a seat asks it: a
    /// gateway's routes are not those of the mesh behind it.
    fn has_route(&self, edge: &Edge<'_>, class: &str, seat: Seat) -> bool {
        let names =
            |name: &Option<Name>, text: &str| name.as_ref().is_none_or(|name| name.service == text);
        self.routes.iter().any(|route| {
            route.seat == seat
                && names(&route.callee, &edge.server.name)
                && names(&route.caller, edge.caller)
                && route.headers.iter().any(|(name, value)| name == self.header && value == class)
        })
    }
}

impl Seen {
    /// Brings times into the form in which a policy's are: a bound that is as long as none is none,
    /// a call of one attempt has one bound, and an attempt's bound is shorter than that of all.
    fn bound(&mut self) {
        let never = LONGEST.as_secs_f64() * 1e3;
        self.attempt_ms = self.attempt_ms.take().filter(|ms| ms.value < never);
        self.overall_ms = self.overall_ms.take().filter(|ms| ms.value < never);
        let once = self.attempts.iter().all(|one| one.value.high == Some(1));
        let longer = |attempt: &Said<f64>, overall: &Said<f64>| attempt.value >= overall.value;
        match (self.attempt_ms.take(), self.overall_ms.take()) {
            (Some(attempt), Some(overall)) if longer(&attempt, &overall) => {
                self.overall_ms = Some(overall);
            }
            (Some(attempt), _) if once => self.overall_ms = Some(attempt),
            (attempt, overall) => (self.attempt_ms, self.overall_ms) = (attempt, overall),
        }
    }
}

/// Whether a file is about calls of somebody: one that names callers is about theirs alone.
fn speaks_of(reading: &Reading, caller: &str) -> bool {
    let mut named = reading.calls.iter().filter_map(|call| call.caller.as_ref()).peekable();
    named.peek().is_none() || named.any(|name| name.service == caller)
}

/// A layer in front of a service that repeats only what never reached it.
fn harmless(applied: &Applied) -> bool {
    let layer = &applied.layer;
    layer.seat == Seat::Inbound && layer.on.value.iter().all(|kind| Failures::BEFORE.contains(kind))
}

/// Attempts of layers: those in one seat are for different requests, those in different seats
/// multiply.
fn product(layers: &[&Applied]) -> Said<Attempts> {
    let mut all = Attempts::ONE;
    let mut from = Vec::new();
    let mut seats: Vec<Seat> = layers.iter().map(|one| one.layer.seat).collect();
    seats.dedup();
    for seat in seats {
        let here = layers.iter().filter(|one| one.layer.seat == seat);
        let mut one: Option<Attempts> = None;
        for applied in here {
            let layer = &applied.layer;
            let attempts = if layer.retries() {
                let value = &layer.attempts.value;
                Attempts { low: value.low(), high: value.high() }
            } else {
                Attempts::ONE
            };
            from.push(place(&layer.attempts.from, applied));
            one = Some(match one {
                None => attempts,
                Some(before) => Attempts {
                    low: before.low.min(attempts.low),
                    high: before.high.zip(attempts.high).map(|(a, b)| a.max(b)),
                },
            });
        }
        all = all.times(one.unwrap_or(Attempts::ONE));
    }
    from.dedup();
    let from = if from.is_empty() { NOTHING.to_owned() } else { from.join(", ") };
    Said { value: all, from }
}

/// Where a value is said.
fn place(from: &Origin, applied: &Applied) -> String {
    let path = applied.path.as_deref().unwrap_or("no file");
    match from {
        Origin::Written(line) => format!("{path}:{line}"),
        Origin::Elsewhere { path, line } => format!("{path}:{line}"),
        Origin::Default(who) => (*who).to_owned(),
        Origin::Derived => format!("{path}:{}", applied.layer.lines[0]),
    }
}

/// What two sets of policies mean at a service.
pub(crate) fn amplification(asked: (f64, f64), runs: (f64, f64)) -> Meaning {
    Meaning { worst: [asked.0, runs.0], sustained: [asked.1, runs.1], hidden_rps: [None, None] }
}

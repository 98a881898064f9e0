//! A hop: one listener of the proxy with its layers, its meters and its lever, as operators see
//! it. The data path makes hops and counts; the admin port, the metrics and the lever read them.
//!
//! A hop outlives a reload: whoever has the same name keeps its lever where the operator left it,
//! its meters, and what its layers counted before.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use damper_control::lever::{Action, Change, ClassSet, LeverState, Setting};
use damper_tower::door::Load;
use damper_tower::{Counters, DoorLayer, GateLayer, HedgeLayer, LeverLayer, RetryLayer};
use damper_tower::{SharedBudget, SharedLever, Snapshot};

use crate::meters::Meters;
use crate::observe::span::Spans;

/// Names of layers, as metrics have them.
pub mod layer {
    /// The operator's lever.
    pub const LEVER: &str = "lever";
    /// Retries.
    pub const RETRY: &str = "retry";
    /// Hedges.
    pub const HEDGE: &str = "hedge";
    /// A circuit breaker.
    pub const BREAKER: &str = "breaker";
    /// A throttle of the caller's own attempts.
    pub const THROTTLE: &str = "throttle";
    /// What is written into calls, and not sent: deadlines that are over, ranks that the callee refuses.
    pub const SEND: &str = "send";
    /// Admission, limit and queue.
    pub const DOOR: &str = "door";
    /// A retry budget: it counts nothing by class, but has readings.
    pub const BUDGET: &str = "budget";
}

/// Which way a hop is crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Requests of others to the service.
    Inbound,
    /// Calls of the service to others.
    Outbound,
}

impl Direction {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }
}

/// What is known beforehand about the loop through a hop, for its state: `docs/observe.md`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Attempts that arrive for one request while every attempt fails, by class; the last is
    /// that of all further classes. Empty: 1, nobody retries.
    pub gain: Vec<f64>,
    /// Attempts per second that what is behind can serve. `None`: not known.
    pub capacity: Option<f64>,
}

impl Outlook {
    /// The gain of a class.
    #[must_use]
    pub fn gain(&self, class: usize) -> f64 {
        self.gain.get(class).or(self.gain.last()).copied().unwrap_or(1.0)
    }
}

/// Shows the readings of a control one by one.
pub type Readings = Arc<dyn Fn(&mut dyn FnMut(&'static str, f64)) + Send + Sync>;

/// What the layers of earlier configurations counted.
#[derive(Clone, Debug, Default)]
struct Before {
    /// Those whose last requests may still be under way, the oldest first.
    fading: Vec<(&'static str, Counters)>,
    /// The sum of those that are gone.
    gone: Vec<(&'static str, Snapshot)>,
}

impl Before {
    /// Layers that are kept apart: those of eight reloads, more than can be draining at once.
    const MOST: usize = 8 * 8;

    fn with(mut self, layers: &[(&'static str, Counters)]) -> Self {
        self.fading.extend(layers.iter().cloned());
        let over = self.fading.len().saturating_sub(Self::MOST);
        for (name, counters) in self.fading.drain(..over) {
            let counted = counters.snapshot();
            match self.gone.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => sum.add(&counted),
                None => self.gone.push((name, counted)),
            }
        }
        self
    }
}

/// One listener of the proxy.
pub struct Hop {
    name: String,
    direction: Direction,
    classes: Vec<String>,
    lever: SharedLever,
    meters: Meters,
    layers: Vec<(&'static str, Counters)>,
    before: Before,
    readings: Vec<(&'static str, Readings)>,
    load: Option<Arc<dyn Fn() -> Load + Send + Sync>>,
    outlook: Outlook,
    /// Classes that were held back before a reload and are none any more.
    gone: Mutex<Vec<String>>,
}

impl fmt::Debug for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hop")
            .field("name", &self.name)
            .field("direction", &self.direction)
            .field("classes", &self.classes)
            .finish_non_exhaustive()
    }
}

impl Hop {
    /// A new hop with an open lever. `classes`: their names, the highest first. After a reload,
    /// [`Hops::begin`] is what keeps the lever and the counts.
    #[must_use]
    pub fn new(name: impl Into<String>, direction: Direction, classes: Vec<String>) -> Self {
        Self {
            name: name.into(),
            direction,
            lever: SharedLever::default(),
            meters: Meters::new(classes.len()),
            classes,
            layers: Vec::new(),
            before: Before::default(),
            readings: Vec::new(),
            load: None,
            outlook: Outlook::default(),
            gone: Mutex::default(),
        }
    }

    /// Adds a layer that counts. The outermost comes first.
    #[must_use]
    pub fn with_layer(mut self, name: &'static str, counters: &Counters) -> Self {
        self.layers.push((name, counters.clone()));
        self
    }

    /// Adds what a control shows.
    #[must_use]
    pub fn with_readings(mut self, name: &'static str, readings: Readings) -> Self {
        self.readings.push((name, readings));
        self
    }

    /// Adds the lever's layer. It must obey [`Hop::lever`].
    #[must_use]
    pub fn with_lever<I>(self, lever: &LeverLayer<I>) -> Self {
        self.with_layer(layer::LEVER, lever.counters())
    }

    /// Adds a retry layer and its budget.
    #[must_use]
    pub fn with_retry<C, I>(self, retry: &RetryLayer<C, I>) -> Self {
        let budget = retry.budget().clone();
        self.with_layer(layer::RETRY, retry.counters()).with_budget(budget)
    }

    /// Adds a hedge layer.
    #[must_use]
    pub fn with_hedge<C, I>(self, hedge: &HedgeLayer<C, I>) -> Self {
        self.with_layer(layer::HEDGE, hedge.counters())
    }

    /// Adds what a budget shows.
    #[must_use]
    pub fn with_budget(self, budget: SharedBudget) -> Self {
        if !budget.is_there() {
            return self;
        }
        self.with_readings(layer::BUDGET, Arc::new(move |see| budget.observe(see)))
    }

    /// Adds a gate: [`layer::BREAKER`] or [`layer::THROTTLE`].
    #[must_use]
    pub fn with_gate<C, I>(self, name: &'static str, gate: &GateLayer<C, I>) -> Self
    where
        C: Send + Sync + 'static,
        I: Send + Sync + 'static,
    {
        let shown = gate.clone();
        self.with_layer(name, gate.counters())
            .with_readings(name, Arc::new(move |see| shown.observe(see)))
    }

    /// Adds a door: its counters, who works and waits behind it, and its limit.
    #[must_use]
    pub fn with_door<C, I>(mut self, door: &DoorLayer<C, I>) -> Self
    where
        C: Send + Sync + 'static,
        I: Send + Sync + 'static,
    {
        let shown = door.clone();
        self.load = Some(Arc::new(move || shown.load()));
        self.with_layer(layer::DOOR, door.counters())
    }

    /// Says what is known about the loop through it.
    #[must_use]
    pub fn with_outlook(self, outlook: Outlook) -> Self {
        Self { outlook, ..self }
    }

    /// Its name: unique in a proxy.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which way it is crossed.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// The names of its classes, the highest first.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Its lever.
    #[must_use]
    pub const fn lever(&self) -> &SharedLever {
        &self.lever
    }

    /// Its meters.
    #[must_use]
    pub const fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Classes that were held back before a reload and are none any more; once, for the journal.
    pub(crate) fn take_gone(&self) -> Option<Vec<String>> {
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        (!gone.is_empty()).then_some(gone)
    }

    /// What is known about the loop through it.
    #[must_use]
    pub const fn outlook(&self) -> &Outlook {
        &self.outlook
    }

    /// What is at work behind its door, if it has one.
    #[must_use]
    pub fn load(&self) -> Option<Load> {
        self.load.as_ref().map(|load| load())
    }

    /// What its controls show.
    pub fn readings(&self) -> impl Iterator<Item = (&'static str, &Readings)> {
        self.readings.iter().map(|(name, readings)| (*name, readings))
    }

    /// What each of its layers counted, over all configurations, the outermost first.
    #[must_use]
    pub fn counts(&self) -> Vec<(&'static str, Snapshot)> {
        let mut sums: Vec<(&'static str, Snapshot)> = Vec::new();
        let mut add = |name, counted: &Snapshot| match sums.iter_mut().find(|(n, _)| *n == name) {
            Some((_, sum)) => sum.add(counted),
            None => sums.push((name, counted.clone())),
        };
        for (name, counters) in self.layers.iter().chain(&self.before.fading) {
            add(name, &counters.snapshot());
        }
        for (name, counted) in &self.before.gone {
            add(name, counted);
        }
        sums
    }
}

/// Two hops have the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two hops have the name `{0}`: metrics and the lever could not tell them apart")]
pub struct SameName(pub String);

/// The hops of a proxy, exchanged as a whole by a reload. Clones are the same hops.
#[derive(Clone, Debug, Default)]
pub struct Hops {
    now: Arc<RwLock<Arc<[Arc<Hop>]>>>,
    spans: Spans,
}

impl Hops {
    /// The hops now.
    #[must_use]
    pub fn list(&self) -> Arc<[Arc<Hop>]> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where spans of traced requests go.
    #[must_use]
    pub const fn spans(&self) -> &Spans {
        &self.spans
    }

    /// The hop with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Hop>> {
        self.list().iter().find(|hop| hop.name == name).cloned()
    }

    /// Begins a hop of the next configuration. One of this name that is there hands on its lever
    /// (for other classes, its position by their names) and, if it has the same classes and direction, its meters and counts.
    #[must_use]
    pub fn begin(&self, name: &str, direction: Direction, classes: Vec<String>) -> Hop {
        let mut hop = Hop::new(name, direction, classes);
        hop.meters.trace(&self.spans, name, &hop.classes);
        if let Some(old) = self.find(name) {
            if old.classes == hop.classes {
                hop.lever = old.lever.clone();
            } else {
                hop.lever = moved(&old.lever, &old.classes, &hop.classes);
                hop.gone = Mutex::new(gone(&old.lever, &old.classes, &hop.classes));
            }
            // Counts of another class under this class's name would be worse than a counter that
            // starts again.
            if old.direction == hop.direction && old.classes == hop.classes {
                hop.meters = old.meters.clone();
                hop.before = old.before.clone().with(&old.layers);
            }
        }
        hop
    }

    /// Puts a configuration in force, and gives its hops.
    ///
    /// # Errors
    /// Two have the same name; nothing was changed.
    pub fn install(&self, hops: Vec<Hop>) -> Result<Arc<[Arc<Hop>]>, SameName> {
        self.put(hops.into_iter().map(Arc::new).collect())
    }

    /// The same, where some hops may be those that are there already: nothing of them changes.
    ///
    /// # Errors
    /// Two have the same name; nothing was changed.
    pub fn put(&self, hops: Vec<Arc<Hop>>) -> Result<Arc<[Arc<Hop>]>, SameName> {
        for (at, hop) in hops.iter().enumerate() {
            if hops[..at].iter().any(|other| other.name == hop.name) {
                return Err(SameName(hop.name.clone()));
            }
        }
        let hops: Arc<[Arc<Hop>]> = hops.into();
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = hops.clone();
        Ok(hops)
    }
}

/// A set of classes by their names in another list; all of them stay all.
pub(crate) fn renamed(set: ClassSet, from: &[String], to: &[String]) -> ClassSet {
    if numbered(from).all(|(at, _)| set.contains(at)) {
        return ClassSet::ALL;
    }
    let known = numbered(from).filter(|(at, _)| set.contains(*at));
    let found = known.filter_map(|(_, name)| numbered(to).find(|(_, other)| *other == name));
    found.fold(ClassSet::NONE, |set, (at, _)| set.with(ClassSet::of(at)))
}

fn numbered(names: &[String]) -> impl Iterator<Item = (u8, &String)> {
    (0u8..).zip(names)
}

/// What brings a lever into a position.
pub(crate) const fn action_of(setting: Setting) -> Action {
    match setting {
        Setting::Paused => Action::Pause,
        Setting::Throttled(level) => Action::Throttle(level),
        Setting::Ramping(ramp) => Action::Ramp(ramp),
    }
}

/// A lever in the same position for classes with other numbers.
fn moved(old: &SharedLever, from: &[String], to: &[String]) -> SharedLever {
    let lever = SharedLever::default();
    let changes = |state: LeverState| {
        let groups = state.groups.into_iter();
        groups.filter_map(|group| {
            let classes = renamed(group.classes, from, to);
            let action = action_of(group.setting);
            let change = Change { action, classes, who: "damper", why: "as before the reload" };
            (!classes.is_empty()).then_some(change)
        })
    };
    for change in changes(old.state()) {
        let _ = lever.pull(change);
    }
    for caller in old.callers() {
        for change in changes(old.state_for(caller)) {
            let _ = lever.pull_for(caller, change);
        }
    }
    lever
}

/// Classes that a lever holds back for all and that are none any more.
fn gone(old: &SharedLever, from: &[String], to: &[String]) -> Vec<String> {
    let state = old.state();
    let held = |at: u8| state.groups.iter().any(|group| group.classes.contains(at));
    let lost = numbered(from).filter(|(at, name)| held(*at) && !to.contains(name));
    lost.map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests;

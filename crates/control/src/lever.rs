//! The operator's lever.
//!
//! Sources: "Site Reliability Engineering", chapter 22: cut the load until crashes stop, for
//! instance to 1 %, wait until most servers are well, then ramp up slowly; and post-mortems in
//! which intake was throttled by hand for hours because there was nothing to pull.
//!
//! Chosen here:
//!
//! - The classes that one change names share one flow: one rate for all of them together. A
//!   class belongs to the change that named it last, so a change for one class wins over an
//!   earlier one for all, and one for all replaces everything before it. Who pauses everything
//!   has paused everything.
//! - The same change again is no change: it neither restarts a ramp nor hands out new tokens.
//! - A flow starts with nothing saved up, and is paced without chance: a share of 1 % lets the
//!   hundredth through, a rate of 10/s one in a tenth of a second.
//! - A clock that goes back earns nothing and sets no ramp back.
//! - After a restart it is never more open than before: see [`LeverState`].

mod callers;
mod change;
mod flow;
mod journal;
mod state;

use alloc::collections::VecDeque;

pub use self::callers::CallerLever;
pub use self::change::{Action, Change, ClassSet, Level, Pulled, Ramp};
use self::flow::{Flow, Mode};
pub use self::journal::Record;
pub use self::state::{Group, LeverState, Setting};
use crate::entry::{Build, Entry, Kind, Parameter, Unit};
use crate::observe::{Observe, Reading};
use crate::who::CLASSES;
use crate::{Nanos, Reason, Refusal, Who};

/// The controls of this family.
pub(crate) const ENTRIES: &[&Entry] = &[&ENTRY];

const ENTRY: Entry = Entry {
    name: "lever",
    kind: Kind::Lever,
    summary: "the operator's lever: throttle, pause or ramp what a service lets in, all of it or by class",
    source: "Site Reliability Engineering, chapter 22 (recovery from cascading failure)",
    rule: "\
open:      everything is let in
throttle:  to `rate` per second, or to `share` of what comes
pause:     nothing is let in
ramp:      from one share or rate to another, evenly over `over`, or in `steps` equal steps;
           a ramp to 100 % ends open
hold:      a ramp stays where it is
classes that one change names share its rate; the last change that names a class is in force
rate:      credit += rate × time, at most max(1, rate × burst); one is let in for a credit of 1
share:     credit += share for each that comes; one is let in for a credit of 1",
    when: "When a service does not come back by itself: cut to where it stops failing, wait until \
           it is well, ramp up over minutes so that caches and connections get warm, hold if it \
           falters. Pull it for the least important classes first. Rehearse it: a lever that was \
           never pulled is a plan, not a lever.",
    traps: &[
        "What it refuses is retried like any other refusal; without a budget at the callers a pause makes its own storm.",
        "Opening at once after an outage brings back all that waited; ramp.",
        "A share of a storm is still a large number; a rate is not, but must be known beforehand.",
        "A rate is one for all classes that a change names; pull once for each class to give each its own.",
        "A hold also holds the classes that share the ramp.",
    ],
    parameters: &[
        Parameter {
            name: "rate",
            unit: Unit::Rate,
            default: 0.0,
            min: 0.0,
            max: Level::MAX_RATE,
            doc: "what is let in per second; 0: no rate is set",
        },
        Parameter {
            name: "share",
            unit: Unit::Percent,
            default: 100.0,
            min: 0.0,
            max: 100.0,
            doc: "what is let in of all that comes",
        },
        Parameter {
            name: "over",
            unit: Unit::Duration,
            default: 0.0,
            min: 0.0,
            max: 31_536_000.0,
            doc: "how long a ramp takes; 0: no ramp",
        },
        Parameter {
            name: "steps",
            unit: Unit::Count,
            default: 0.0,
            min: 0.0,
            max: 65_535.0,
            doc: "steps of a ramp; 0: evenly",
        },
        Parameter {
            name: "burst",
            unit: Unit::Duration,
            default: 1.0,
            min: 0.0,
            max: 3600.0,
            doc: "for how long a rate that is not used is saved up",
        },
        Parameter {
            name: "journal",
            unit: Unit::Count,
            default: 64.0,
            min: 1.0,
            max: 1024.0,
            doc: "changes that it remembers, with who, when and why",
        },
    ],
    readings: &[
        Reading::gauge(
            "state",
            "of the class held back most: 0 open, 1 ramp, 2 throttled, 3 paused",
        ),
        Reading::gauge("rate", "lowest rate per second of any class; -1: none has one"),
        Reading::gauge("share", "lowest share of any class: 1 open, 0 paused"),
        Reading::counter("admitted", "attempts let in"),
        Reading::counter("refused", "attempts refused"),
        Reading::counter("changes", "times it was pulled to another position"),
    ],
    build: Build::Section,
};

/// One more than there are classes, so that there is always one that no class uses.
const FLOWS: usize = CLASSES + 1;

/// The operator's lever.
#[derive(Clone, Debug)]
pub struct Lever {
    flows: [Flow; FLOWS],
    /// Which flow each class belongs to.
    of: [u8; CLASSES],
    burst: Nanos,
    most_records: usize,
    journal: VecDeque<Record>,
    admitted: u64,
    refused: u64,
    changes: u64,
}

impl Default for Lever {
    fn default() -> Self {
        Self::new()
    }
}

impl Lever {
    /// How long a rate that is not used is saved up, unless said otherwise.
    pub const DEFAULT_BURST: Nanos = Nanos::from_secs(1);
    /// How many changes are remembered, unless said otherwise.
    pub const DEFAULT_JOURNAL: u32 = 64;

    /// An open lever.
    #[must_use]
    pub fn new() -> Self {
        Self::open(Self::DEFAULT_BURST, Self::DEFAULT_JOURNAL as usize)
    }

    /// An open lever that saves up an unused rate for `burst` and remembers `journal` changes.
    /// `None` unless the burst is at most an hour and 1 ≤ journal ≤ 1024.
    #[must_use]
    pub fn try_new(burst: Nanos, journal: u32) -> Option<Self> {
        let valid = burst <= Nanos::from_secs(3600) && (1..=1024).contains(&journal);
        valid.then(|| Self::open(burst, journal as usize))
    }

    fn open(burst: Nanos, most_records: usize) -> Self {
        Self {
            flows: core::array::from_fn(|_| Flow::OPEN),
            of: [0; CLASSES],
            burst,
            most_records,
            journal: VecDeque::new(),
            admitted: 0,
            refused: 0,
            changes: 0,
        }
    }

    /// Asks to let an attempt of `class` in.
    ///
    /// # Errors
    /// It is held back. `earliest` is when one credit will be there at the present rate, if
    /// nobody else takes it.
    #[inline]
    pub fn admit(&mut self, now: Nanos, class: u8) -> Result<(), Refusal> {
        let flow = usize::from(self.of[Who::of(class).index()]);
        match self.flows[flow].admit(now, self.burst) {
            Ok(()) => {
                self.admitted += 1;
                Ok(())
            }
            Err(earliest) => {
                self.refused += 1;
                Err(Refusal { reason: Reason::Lever, class, earliest })
            }
        }
    }

    /// Pulls it.
    pub fn pull(&mut self, now: Nanos, change: Change<'_>) -> Pulled {
        let named = !change.who.trim().is_empty() && !change.why.trim().is_empty();
        if !named || change.classes.is_empty() || !change.action.valid() {
            return Pulled::Invalid;
        }
        let changed = match change.action {
            Action::Hold => self.hold(now, change.classes),
            action => {
                !self.is_at(action, change.classes) && {
                    self.regroup(change.classes, Flow::new(now, action));
                    true
                }
            }
        };
        if !changed {
            return Pulled::Already;
        }
        self.changes += 1;
        if self.journal.len() == self.most_records {
            self.journal.pop_front();
        }
        self.journal.push_back(Record::new(now, &change));
        Pulled::Changed
    }

    /// Gives these classes a flow of their own.
    fn regroup(&mut self, classes: ClassSet, flow: Flow) {
        let free = (0u8..).zip(&mut self.flows).find(|(i, _)| !self.of.contains(i));
        if let Some((index, place)) = free {
            *place = flow;
            for (class, of) in (0u8..).zip(&mut self.of) {
                if classes.contains(class) {
                    *of = index;
                }
            }
        }
    }

    fn hold(&mut self, now: Nanos, classes: ClassSet) -> bool {
        let mut held = false;
        for class in (0..CLASSES as u8).filter(|class| classes.contains(*class)) {
            held |= self.flows[usize::from(self.of[usize::from(class)])].hold(now);
        }
        held
    }

    /// The classes that share this flow.
    fn members(&self, flow: u8) -> ClassSet {
        (0u8..)
            .zip(self.of)
            .filter(|(_, of)| *of == flow)
            .fold(ClassSet::NONE, |set, (class, _)| set.with(ClassSet::of(class)))
    }

    /// Whether pulling it like this would change nothing.
    fn is_at(&self, action: Action, classes: ClassSet) -> bool {
        (0u8..).zip(self.of).filter(|(class, _)| classes.contains(*class)).all(|(_, of)| {
            let flow = &self.flows[usize::from(of)];
            match action {
                // An open or a paused flow has nothing to share.
                Action::Open => flow.mode == Mode::Open,
                Action::Pause => flow.mode == Mode::Paused,
                _ => flow.cause == action && self.members(of) == classes,
            }
        })
    }

    /// What `class` is let in to now: all is `Share(1.0)`, nothing `Share(0.0)`.
    #[must_use]
    pub fn level(&self, now: Nanos, class: u8) -> Level {
        self.flows[usize::from(self.of[Who::of(class).index()])].level(now)
    }

    /// The changes that it remembers, the oldest first.
    pub fn journal(&self) -> impl Iterator<Item = &Record> {
        self.journal.iter()
    }

    /// How often it was pulled to another position.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

impl Observe for Lever {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (mut state, mut rate, mut share) = (0u8, f64::INFINITY, 1.0f64);
        for of in self.of {
            let flow = &self.flows[usize::from(of)];
            state = state.max(match flow.mode {
                Mode::Open => 0,
                Mode::Ramping { .. } => 1,
                Mode::Throttled(_) => 2,
                Mode::Paused => 3,
            });
            match flow.level(flow.seen()) {
                Level::Rate(r) => rate = rate.min(r),
                Level::Share(s) => share = share.min(s),
            }
        }
        see("state", f64::from(state));
        see("rate", if rate.is_finite() { rate } else { -1.0 });
        see("share", share);
        see("admitted", self.admitted as f64);
        see("refused", self.refused as f64);
        see("changes", self.changes as f64);
    }
}

#[cfg(test)]
mod tests;

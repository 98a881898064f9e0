//! The levers of all hops: pulls, who pulled, how goodput answered, and what reverts by itself.
//!
//! A revert brings the classes of the pull back to where they were before it. Whoever pulls for
//! some of them meanwhile takes these out of it: the last word of a person is never undone.

mod journal;
mod kept;
mod restart;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use damper_control::Nanos;
use damper_control::lever::{
    Action, CallerLever, Change, ClassSet, Group, Level, LeverState, Pulled, Setting,
};
use damper_system::quantity::span;
use damper_tower::Flow;

pub use self::journal::Entry;
use self::journal::Journal;
use super::pull::{Pull, Word};
use crate::hop::{Hop, Hops, action_of, renamed};
use crate::observe::view::{self, LeverView};
use crate::observe::{Kind, Line, Log, Watch, wall};

/// Reverts that can be due at the same time; more pulls for a time are refused.
const MOST_PENDING: usize = 256;
/// Names of callers that are remembered.
const MOST_NAMES: usize = 1024;
/// Bytes of the name of a caller.
const LONGEST_CALLER: usize = 256;

/// Why nothing was pulled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// What was asked makes no sense.
    #[error("{0}")]
    Wrong(String),
    /// There is no such hop.
    #[error("{0}")]
    NoHop(String),
    /// There are as many as may be.
    #[error("{0}")]
    Full(String),
}

/// What a pull did.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// What was changed, an entry for each hop.
    pub changed: Vec<Entry>,
    /// Hops that were in that position before.
    pub already: Vec<String>,
}

/// What `GET /lever` says.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    /// When, in UTC.
    pub at: String,
    /// The levers.
    pub hops: Vec<HopStatus>,
    /// Who pulled, the oldest first.
    pub journal: Vec<Entry>,
}

/// The lever of a hop.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HopStatus {
    /// Its name.
    pub name: String,
    /// `inbound` or `outbound`.
    pub direction: String,
    /// Its classes, the highest first.
    pub classes: Vec<String>,
    /// How it is.
    pub state: String,
    /// Requests let in per second, retries of callers not counted; nothing: it was just started.
    pub load_rps: Option<f64>,
    /// Successes in time per second.
    pub goodput_rps: Option<f64>,
    /// Who is held back.
    pub lever: LeverView,
}

/// A pull that is to be undone.
#[derive(Clone, Debug)]
struct Pending {
    due: Nanos,
    entry: Option<u64>,
    hop: String,
    caller: Option<Flow>,
    /// Those of the pull that nobody pulled for since.
    classes: ClassSet,
    before: LeverState,
    /// Pulls for a time whose position this one took, and whose time goes on below it.
    under: Vec<Pending>,
    /// What the classes were called when it was pulled.
    names: Vec<String>,
}

impl Pending {
    /// It, and those under it.
    fn count(&self) -> usize {
        1 + self.under.iter().map(Self::count).sum::<usize>()
    }

    /// One under it that ends no later says where to go back to: without this, who pulls again
    /// and again before the time is over would pile them up.
    fn settle(mut self) -> Self {
        while let [only] = &mut *self.under
            && only.due <= self.due
            && only.classes == self.classes
        {
            self.before = std::mem::take(&mut only.before);
            self.under = std::mem::take(&mut only.under);
        }
        self
    }

    /// Follows a hop whose classes are others after a reload.
    fn follow(&mut self, classes: &[String]) {
        self.under.iter_mut().for_each(|under| under.follow(classes));
        if self.names == classes {
            return;
        }
        self.classes = renamed(self.classes, &self.names, classes);
        for group in &mut self.before.groups {
            group.classes = renamed(group.classes, &self.names, classes);
        }
        self.before.groups.retain(|group| !group.classes.is_empty());
        self.names = classes.to_vec();
    }
}

#[derive(Debug, Default)]
struct Inner {
    journal: Journal,
    pending: Vec<Pending>,
    callers: BTreeMap<u64, String>,
    /// When positions were written down, if they are.
    written: Nanos,
    /// Hops and their classes then.
    written_of: Vec<(String, Vec<String>)>,
}

#[derive(Debug)]
struct Shared {
    hops: Hops,
    watch: Watch,
    log: Option<Log>,
    file: Option<kept::File>,
    inner: Mutex<Inner>,
}

/// The levers of all hops. Clones are the same.
#[derive(Clone, Debug)]
pub struct Levers(Arc<Shared>);

impl Levers {
    /// The levers of these hops.
    #[must_use]
    pub fn new(hops: Hops, watch: Watch, log: Option<Log>) -> Self {
        Self(Arc::new(Shared { hops, watch, log, file: None, inner: Mutex::default() }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hops that a pull is for.
    fn hops(&self, named: Option<&str>) -> Result<Vec<Arc<Hop>>, Problem> {
        let hops = self.0.hops.list();
        let names = || hops.iter().map(|hop| hop.name()).collect::<Vec<_>>().join(", ");
        match (named, &*hops) {
            (_, []) => Err(Problem::NoHop("there is no hop yet".to_owned())),
            (Some("all"), all) => Ok(all.to_vec()),
            (Some(name), all) => match all.iter().find(|hop| hop.name() == name) {
                Some(hop) => Ok(vec![hop.clone()]),
                None => {
                    Err(Problem::NoHop(format!("there is no hop `{name}`; there are {}", names())))
                }
            },
            (None, [one]) => Ok(vec![one.clone()]),
            (None, _) => Err(Problem::Wrong(format!("say which hop: all, or one of {}", names()))),
        }
    }

    /// Pulls.
    ///
    /// # Errors
    /// Nothing was pulled, at no hop.
    pub fn pull(&self, now: Nanos, pull: &Pull) -> Result<Done, Problem> {
        let wrong = Problem::Wrong;
        let hops = self.hops(pull.hop.as_deref())?;
        if pull.who.trim().is_empty() || pull.why.trim().is_empty() {
            return Err(wrong("say who pulls, and why: the next on call will ask".to_owned()));
        }
        let lasts = pull.lasts.as_deref().map(span).transpose().map_err(wrong)?;
        if lasts.is_some() && pull.action == Word::Hold {
            return Err(wrong("hold takes no `for`: pull to where it should then be".to_owned()));
        }
        let caller = match pull.caller.as_deref() {
            Some(name) if name.is_empty() || name.len() > LONGEST_CALLER => {
                return Err(wrong(format!("a caller has 1 to {LONGEST_CALLER} bytes")));
            }
            name => name.map(|name| Flow::named(name.as_bytes())),
        };
        // Everything that can be wrong is, before anything is pulled anywhere.
        let mut plans = Vec::new();
        for hop in hops {
            let classes = pull.classes(&hop).map_err(wrong)?;
            let level = level_now(&hop, caller, classes);
            plans.push((pull.action(level).map_err(wrong)?, classes, hop));
        }
        if let Some(flow) = caller {
            room(&plans, flow)?;
        }
        let mut inner = self.inner();
        inner.follow(&self.0.hops);
        let waiting: usize = inner.pending.iter().map(Pending::count).sum();
        if lasts.is_some() && waiting + plans.len() > MOST_PENDING {
            return Err(Problem::Full("too many pulls wait to be undone".to_owned()));
        }
        if let (Some(flow), Some(name)) = (caller, &pull.caller)
            && (inner.callers.len() < MOST_NAMES || inner.callers.contains_key(&flow.0))
        {
            inner.callers.insert(flow.0, name.clone());
        }
        let mut done = Done::default();
        for (action, classes, hop) in plans {
            let before = state(&hop, caller);
            let change = Change { action, classes, who: &pull.who, why: &pull.why };
            match apply(&hop, caller, change) {
                None => return Err(full(&hop)),
                Some(Pulled::Invalid) => return Err(wrong("the lever cannot do that".to_owned())),
                Some(Pulled::Already) => {
                    inner.renew(now, &hop, caller, classes, lasts);
                    done.already.push(hop.name().to_owned());
                }
                Some(Pulled::Changed) => {
                    let words = pull.words(action);
                    let entry = self.note(&mut inner, now, &hop, pull, &words, lasts);
                    let under = inner.supersede(hop.name(), caller, classes);
                    if let Some(lasts) = lasts {
                        let pending = Pending {
                            due: now + lasts,
                            entry: Some(entry.id),
                            hop: hop.name().to_owned(),
                            caller,
                            classes,
                            before,
                            under,
                            names: hop.classes().to_vec(),
                        };
                        inner.pending.push(pending.settle());
                    }
                    done.changed.push(entry);
                }
            }
        }
        self.write_down(&mut inner, now);
        Ok(done)
    }

    /// Writes a pull into the journal and into the log.
    fn note(
        &self,
        inner: &mut Inner,
        now: Nanos,
        hop: &Hop,
        pull: &Pull,
        action: &str,
        lasts: Option<Nanos>,
    ) -> Entry {
        let entry = Entry {
            at: wall::now(),
            hop: hop.name().to_owned(),
            classes: if pull.classes.is_empty() {
                vec!["all".into()]
            } else {
                pull.classes.clone()
            },
            caller: pull.caller.clone(),
            action: action.to_owned(),
            who: cut(&pull.who, 64),
            why: cut(&pull.why, 256),
            reverts_at: lasts.map(|lasts| wall::after(damper_tower::clock::duration(lasts))),
            state_before: self.0.watch.state(hop.name()).word().to_owned(),
            ..Entry::default()
        };
        if let Some(log) = &self.0.log {
            let classes = entry.classes.join(",");
            let message = format!("{} by {:?}: {:?}", entry.action, entry.who, entry.why);
            log.write_at(now, Kind::Lever, || Line {
                hop: Some(hop.name()),
                class: Some(&classes),
                message: &message,
                ..Line::default()
            });
        }
        inner.journal.push(now, entry, &self.0.watch)
    }

    /// When the next revert is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.inner().pending.iter().map(|pending| pending.due).min()
    }

    /// Undoes what is due, and notes how goodput answered.
    pub fn tick(&self, now: Nanos) {
        let mut inner = self.inner();
        inner.journal.answer(now, &self.0.watch);
        inner.follow(&self.0.hops);
        self.reloaded(&mut inner, now);
        let (due, later) =
            std::mem::take(&mut inner.pending).into_iter().partition(|p| p.due <= now);
        inner.pending = later;
        let due: Vec<Pending> = due;
        let mut changed = false;
        for pending in due {
            let Some(hop) = self.0.hops.find(&pending.hop) else { continue };
            let caller = pending.caller.map(|flow| inner.name(flow));
            let group =
                Group { classes: pending.classes, setting: Setting::Paused, cause: Action::Pause };
            let classes = match pending.classes {
                ClassSet::ALL => Vec::new(),
                _ => view::names(&hop, &group),
            };
            let why = match pending.entry {
                Some(entry) => format!("the time of pull {entry} is over"),
                None => "the time that was asked for is over".to_owned(),
            };
            let pull = Pull::own(classes, caller, why);
            inner.undo(now, &hop, pending);
            self.note(&mut inner, now, &hop, &pull, "back to where it was", None);
            changed = true;
        }
        changed |= inner.written_of != kept::named(&self.0.hops);
        let moved = || inner.written + kept::EVERY <= now && kept::is_moving(&self.0.hops);
        if self.0.file.is_some() && (changed || moved()) {
            self.write_down(&mut inner, now);
        }
    }

    /// Notes what a reload did to the position of a lever.
    fn reloaded(&self, inner: &mut Inner, now: Nanos) {
        for hop in &*self.0.hops.list() {
            let Some(gone) = hop.take_gone() else { continue };
            let why = format!("after a reload there is no class {} any more", gone.join(", "));
            let pull = Pull::own(gone, None, why);
            self.note(inner, now, hop, &pull, "open", None);
        }
    }

    /// The position of a hop's lever.
    #[must_use]
    pub fn view(&self, hop: &Hop) -> LeverView {
        let inner = self.inner();
        view::lever(hop, |flow| inner.name(flow))
    }

    /// All levers and who pulled them.
    #[must_use]
    pub fn status(&self) -> Status {
        let hops = self.0.hops.list();
        let hops = hops.iter().map(|hop| {
            let view = self.0.watch.view(hop);
            HopStatus {
                name: hop.name().to_owned(),
                direction: hop.direction().word().to_owned(),
                classes: hop.classes().to_vec(),
                state: self.0.watch.state(hop.name()).word().to_owned(),
                load_rps: view.as_ref().map(|view| view.all.load_rps),
                goodput_rps: view.as_ref().map(|view| view.all.goodput_rps),
                lever: self.view(hop),
            }
        });
        Status { at: wall::now(), hops: hops.collect(), journal: self.journal() }
    }

    /// Who pulled, the oldest first.
    #[must_use]
    pub fn journal(&self) -> Vec<Entry> {
        self.inner().journal.entries()
    }
}

impl Inner {
    fn name(&self, flow: Flow) -> String {
        self.callers.get(&flow.0).cloned().unwrap_or_else(|| format!("{:016x}", flow.0))
    }

    /// Names of classes as their hops have them now.
    fn follow(&mut self, hops: &Hops) {
        for pending in &mut self.pending {
            if let Some(hop) = hops.find(&pending.hop) {
                pending.follow(hop.classes());
            }
        }
        self.pending.retain(|pending| !pending.classes.is_empty());
    }

    /// A person pulled: these classes are not brought back any more. What would have been, for
    /// whoever pulls for a time only.
    fn supersede(&mut self, hop: &str, caller: Option<Flow>, classes: ClassSet) -> Vec<Pending> {
        let mut over = Vec::new();
        for pending in &mut self.pending {
            if pending.hop == hop && pending.caller == caller {
                let both = both(pending.classes, classes);
                if !both.is_empty() {
                    over.push(Pending { classes: both, ..pending.clone() });
                }
                let rest = pending.classes.bits() & !classes.bits();
                pending.classes = ClassSet::from_bits(rest);
            }
        }
        self.pending.retain(|pending| !pending.classes.is_empty());
        over
    }

    /// The time of a pull is over. Those under it go on, or are over as well.
    fn undo(&mut self, now: Nanos, hop: &Hop, pending: Pending) {
        revert(hop, &pending);
        if let Some(entry) = pending.entry {
            self.journal.reverted(entry);
        }
        for mut under in pending.under {
            under.classes = both(under.classes, pending.classes);
            if under.classes.is_empty() {
                continue;
            }
            if under.due <= now {
                self.undo(now, hop, under);
            } else {
                self.pending.push(under);
            }
        }
    }

    /// The lever is where it was asked to be: what changes is for how long.
    fn renew(
        &mut self,
        now: Nanos,
        hop: &Hop,
        caller: Option<Flow>,
        classes: ClassSet,
        lasts: Option<Nanos>,
    ) {
        let same = |p: &Pending| p.hop == hop.name() && p.caller == caller && p.classes == classes;
        match (lasts, self.pending.iter_mut().find(|pending| same(pending))) {
            (Some(lasts), Some(pending)) => pending.due = now + lasts,
            // Where it was before is not known any more; what held it back ends then.
            (Some(lasts), None) => self.pending.push(Pending {
                due: now + lasts,
                entry: None,
                hop: hop.name().to_owned(),
                caller,
                classes,
                before: LeverState::default(),
                under: Vec::new(),
                names: hop.classes().to_vec(),
            }),
            // Without a time it stays.
            (None, _) => {
                self.supersede(hop.name(), caller, classes);
            }
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].to_owned()
}

/// Those of both.
fn both(a: ClassSet, b: ClassSet) -> ClassSet {
    ClassSet::from_bits(a.bits() & b.bits())
}

fn full(hop: &Hop) -> Problem {
    Problem::Full(format!("as many callers as may be are held back at `{}`; open one", hop.name()))
}

/// Whether a caller finds a lever of its own at every hop, before it is pulled at the first.
fn room(plans: &[(Action, ClassSet, Arc<Hop>)], flow: Flow) -> Result<(), Problem> {
    for (action, _, hop) in plans {
        let held = |flow: &Flow| !hop.lever().state_for(*flow).groups.is_empty();
        let callers = hop.lever().callers();
        let known = callers.contains(&flow) || *action == Action::Open;
        if !known && callers.iter().filter(|flow| held(flow)).count() >= CallerLever::MOST {
            return Err(full(hop));
        }
    }
    Ok(())
}

fn state(hop: &Hop, caller: Option<Flow>) -> LeverState {
    caller.map_or_else(|| hop.lever().state(), |caller| hop.lever().state_for(caller))
}

fn level_now(hop: &Hop, caller: Option<Flow>, classes: ClassSet) -> Level {
    let class = u8::try_from(classes.bits().trailing_zeros()).unwrap_or(0);
    match caller {
        Some(caller) => hop.lever().level_for(caller, class),
        None => hop.lever().level(class),
    }
}

fn apply(hop: &Hop, caller: Option<Flow>, change: Change<'_>) -> Option<Pulled> {
    match caller {
        Some(caller) => hop.lever().pull_for(caller, change),
        None => Some(hop.lever().pull(change)),
    }
}

/// Brings the classes of a pull back.
fn revert(hop: &Hop, pending: &Pending) {
    let now = state(hop, pending.caller);
    let pull = |classes: ClassSet, action: Action| {
        if !classes.is_empty() {
            let change = Change { action, classes, who: "damper", why: "the time is over" };
            let _ = apply(hop, pending.caller, change);
        }
    };
    let mut open = pending.classes.bits();
    for group in &pending.before.groups {
        let back = ClassSet::from_bits(group.classes.bits() & pending.classes.bits());
        open &= !back.bits();
        if back.is_empty() {
            continue;
        }
        // Those who shared its flow and still do share it with these again.
        let rest = group.classes.bits() & !back.bits();
        let still = now.groups.iter().find(|n| n.classes.bits() == rest && n.cause == group.cause);
        let classes = if still.is_some() { group.classes } else { back };
        pull(classes, action_of(group.setting));
    }
    pull(ClassSet::from_bits(open), Action::Open);
}

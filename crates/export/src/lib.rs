//! Writes the policies of a system file as configuration of what people run.
//!
//! A format writes what it can say. Everything else is a [`Loss`]: what was asked, what was written
//! instead, which way that errs, and what it means in numbers. No call makes more attempts than were
//! asked for; where a bound over all calls cannot be said, that is a loss too, and says so.
//!
//! Nothing here does I/O: files are paths and texts.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod asked;
mod diff;
pub mod format;
mod loss;
mod meaning;
mod ours;
mod seen;
mod share;
mod signal;
mod tree;
mod wait;

use damper_system::System;
use damper_system::coverage::{Command, left_out};
use damper_system::model::Policy;
use serde::Serialize;

use asked::Asked;
pub use diff::{Call, Comparison, Difference, compare, diff};
use format::OneServer;
pub use format::implicit::{IMPLICIT, Implicit};
pub use format::{FORMATS, Format};
pub use loss::{Loss, Meaning, Side};

/// How and where it is to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Only these calls, as pairs of caller and callee; empty: all.
    pub edges: Vec<(String, String)>,
    /// The namespace of all services, where the format has namespaces.
    pub namespace: String,
    /// The namespace of the gateway that calls from outside come through; none: that of the services.
    pub gateway_namespace: Option<String>,
    /// The port of a service that no address is given for.
    pub port: u16,
    /// Host and port of services by name, where they are not found by it.
    pub addresses: Vec<(String, String, u16)>,
    /// As if every request were of this class, for clients that know their class: one channel, one
    /// instance for each.
    pub class: Option<String>,
    /// The request header that carries the class.
    pub class_header: String,
    /// Leave out the Envoy filter: nothing but configuration of the software itself.
    pub plain: bool,
    /// Say in numbers what losses mean: the system is solved for each of them.
    pub numbers: bool,
    /// Where a proxy beside a caller listens: for what the caller sends, and for what comes in.
    pub listen: [u16; 2],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            edges: Vec::new(),
            namespace: "default".to_owned(),
            gateway_namespace: None,
            port: 80,
            addresses: Vec::new(),
            class: None,
            class_header: "x-damper-class".to_owned(),
            plain: false,
            numbers: true,
            listen: [15001, 15006],
        }
    }
}

impl Options {
    /// Host and port of a service.
    pub(crate) fn address(&self, service: &str) -> (String, u16) {
        let given = self.addresses.iter().find(|(name, ..)| name == service);
        given.map_or((service.to_owned(), self.port), |(_, host, port)| (host.clone(), *port))
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Written {
    /// The format, an id of [`FORMATS`].
    pub format: &'static str,
    /// The files, in order.
    pub files: Vec<File>,
    /// Paths and names that would stand for two things: nothing is written then.
    pub collisions: Vec<String>,
    /// What could not be said.
    pub losses: Vec<Loss>,
    /// What whoever applies it has to know.
    pub notes: Vec<String>,
    /// All losses together, at the callee of the first that changes a number.
    pub meaning: Option<Meaning>,
    /// The policies as they are written, in the order of the system's calls.
    #[serde(skip)]
    pub policies: Vec<Policy>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its path, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Loss {
    /// In one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        loss::sentence(self)
    }
}

/// Writes the policies of a system in a format.
#[must_use]
pub fn export(system: &System, format: &Format, options: &Options) -> Written {
    let only = options.class.as_deref().and_then(|class| of_class(system, class));
    let system = only.as_ref().unwrap_or(system);
    let one = format::one_server(system).unwrap_or_else(|| OneServer::none(system));
    let others = if format.per_callee { asked::others(system, &options.edges) } else { Vec::new() };
    let only: Vec<_> = options.edges.iter().chain(&others).cloned().collect();
    let asked = Asked::of(&one.system, &only);
    let mut draft = (format.write)(&asked, options);
    filter_notes(&asked, format, options, &mut draft);
    for left in left_out(Command::Export, system) {
        draft.note(&left.to_string());
    }
    for (caller, callee) in &others {
        draft.note(&format!(
            "{caller} -> {callee} is written, too: what is written for {callee} is for all of its \
             callers"
        ));
    }
    let written = |said: &loss::Said| {
        said.changes.first().is_none_or(|(at, _)| {
            let same = |edge: &asked::Edge<'_>| edge.name() == said.loss.at;
            asked.edges.iter().any(|edge| edge.at == *at || same(edge))
        })
    };
    // What is written as another call is, comes before what that one loses.
    let stricter: Vec<loss::Said> = one.draft.losses.into_iter().filter(written).collect();
    let mut changes: Vec<_> = stricter.iter().flat_map(|said| said.changes.clone()).collect();
    for said in &mut draft.losses {
        let twin = |(at, change): &(usize, loss::Change)| {
            let twins = one.as_another.iter().filter(|(_, first)| first == at);
            twins.map(|(twin, _)| (*twin, change.clone())).collect::<Vec<_>>()
        };
        let twins: Vec<_> = said.changes.iter().flat_map(twin).collect();
        said.changes.extend(twins);
        changes.extend(said.changes.iter().cloned());
    }
    draft.losses.extend(stricter);
    let mut meanings = meaning::Meanings::of(system);
    let mut come_to = changes.clone();
    for said in draft.losses.iter_mut().filter(|_| options.numbers) {
        let changes = said.changes.as_slice();
        let all = said.comes_to.as_ref().map_or(changes, std::slice::from_ref);
        if !all.is_empty() {
            said.loss.meaning = meanings.one(all);
        }
        come_to.extend(said.comes_to.clone());
    }
    let meaning = if options.numbers { meanings.all(&come_to) } else { None };
    let policies = meaning::written(system, &changes);
    let collisions = std::mem::take(&mut draft.collisions);
    let (files, losses, notes) = loss::place(draft);
    let files = files.into_iter().filter(|_| collisions.is_empty());
    let files = files.map(|(path, text)| File { path, text }).collect();
    Written { format: format.id, files, collisions, losses, notes, meaning, policies }
}

/// What the filter means for whoever applies it, and where it is missing.
fn filter_notes(asked: &Asked<'_>, format: &Format, options: &Options, draft: &mut loss::Draft) {
    let here = format.filter && !options.plain;
    for edge in asked.edges.iter().filter(|edge| here && format::wants_filter(edge)) {
        if let Some(why) = format::unfit(edge) {
            draft.note(&format!(
                "{}: written without the filter, which does not take {why}",
                edge.name()
            ));
        }
    }
    let classes = |edge: &&asked::Edge<'_>| edge.caller == format::CLIENT && edge.lanes().len() > 1;
    for edge in asked.edges.iter().filter(classes) {
        let header = &options.class_header;
        draft.note(&if here && format::filter_serves(edge, options) {
            format!(
                "the filter takes the header {header} of whoever is outside out: every request is of \
                 the lowest class until `class.match` says which are not"
            )
        } else {
            format!(
                "whoever is outside can send the header {header}: take it out or set it at the edge"
            )
        });
    }
}

/// A system in which every request is treated as one of a class; `None`: there is no such class.
fn of_class(system: &System, class: &str) -> Option<System> {
    let class = system.classes.iter().position(|one| one == class)?;
    let class = u8::try_from(class).ok()?;
    let mut system = system.clone();
    for edge in &mut system.policies.edges {
        let retry = &mut edge.policy.retry;
        retry.limits = damper_control::RetryLimits::uniform(retry.limits.limit(class));
    }
    Some(system)
}

/// Switches off what some software retries by itself, for the calls of a system.
#[must_use]
pub fn switch_off(system: &System, software: &Implicit, options: &Options) -> File {
    (software.write)(&Asked::of(system, &options.edges), options)
}

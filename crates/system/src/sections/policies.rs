//! `policies:`: what each says; [`super::merge`] puts them together.

use std::collections::HashMap;

use damper_control::entry::Kind as Of;
use damper_control::{Nanos, RetryOn};

use super::calls;
use super::control::{self, ControlPart};
use super::retry_parts::{BACKOFFS, BackoffPart, backoff};
use crate::model::{Cache, CacheId, CacheMode, Caller, ServiceId, Target};
use crate::node::{Entry, Node, quoted};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, optional};
use crate::source::Span;

const TIME: Kind = Kind::Duration { zero: false };
const LIMIT: Kind = Kind::Count { min: 0, max: 1_000_000 };
const NONE: Kind = Kind::Word(&["none"]);
const ON: [&str; 5] = [
    RetryOn::NAMES[0].0,
    RetryOn::NAMES[1].0,
    RetryOn::NAMES[2].0,
    RetryOn::NAMES[3].0,
    RetryOn::NAMES[4].0,
];
const CONDITION: Kind = Kind::Word(&ON);

pub(crate) static POLICY: Section = Section {
    name: "policy",
    doc: "How calls are made. Each field comes from the most specific policy that has it: `caller -> callee`, then the callee, then `default`.",
    keys: &[
        optional("timeout", Kind::Either(&[TIME, NONE]), "none", "how long one attempt may take"),
        optional(
            "deadline",
            Kind::Either(&[TIME, Kind::Section(&DEADLINE), NONE]),
            "none",
            "how long the call may take over all its attempts",
        ),
        optional(
            "retry",
            Kind::Section(&RETRY),
            "{}",
            "what follows an attempt that did not succeed",
        ),
        optional(
            "throttle",
            Kind::Control(Of::Throttle),
            "none",
            "slows or refuses the caller's own attempts, first ones and retries",
        ),
        optional(
            "breaker",
            Kind::Control(Of::Breaker),
            "none",
            "refuses attempts to a callee that fails",
        ),
        optional(
            "idempotent",
            Kind::Flag,
            "true",
            "whether a call may be made twice; if not, only attempts that were refused before any work are retried",
        ),
    ],
};

static DEADLINE: Section = Section {
    name: "deadline",
    doc: "A deadline that travels. `3s` alone stays with the caller.",
    keys: &[
        optional(
            "total",
            Kind::Either(&[TIME, NONE]),
            "none",
            "for the call over all its attempts",
        ),
        optional(
            "travels",
            Kind::Flag,
            "false",
            "whether deadline and timeout go with the call, so that callees drop work that is too late",
        ),
    ],
};

pub(crate) static RETRY: Section = Section {
    name: "retry",
    doc: "Retries.",
    keys: &[
        optional(
            "limit",
            Kind::Either(&[LIMIT, Kind::Map(Names::Class, &LIMIT)]),
            "0",
            "retries after the first attempt, for all classes or by class",
        ),
        optional(
            "backoff",
            Kind::Either(&[NONE, Kind::Tagged(&BACKOFFS), Kind::Control(Of::Backoff)]),
            "none",
            "when a retry is sent",
        ),
        optional(
            "on",
            Kind::OneOrMany(&CONDITION),
            "[rejected, timeout, failed, downstream, shed]",
            "which ends of an attempt are retried",
        ),
        optional(
            "budget",
            Kind::Control(Of::Budget),
            "none",
            "how many retries, over all calls of a caller to a callee",
        ),
        optional(
            "pushback",
            Kind::Word(&["heed", "ignore"]),
            "heed",
            "whether a callee that says when to come back, or not to, is heeded",
        ),
        optional(
            "needs",
            Kind::Duration { zero: true },
            "0s",
            "how long an attempt needs at least: a retry that could not end before the deadline is not sent",
        ),
    ],
};

/// A value and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<T>(pub(crate) T, pub(crate) Span);

/// What one policy says.
#[derive(Debug)]
pub(crate) struct Partial {
    /// Its key.
    pub(crate) at: Span,
    pub(crate) timeout: Option<Placed<Option<Nanos>>>,
    pub(crate) deadline: Option<Placed<Option<Nanos>>>,
    pub(crate) travels: Option<bool>,
    /// By class.
    pub(crate) limits: Vec<Option<Placed<u32>>>,
    pub(crate) on: Option<RetryOn>,
    pub(crate) backoff: Option<BackoffPart>,
    pub(crate) budget: Option<ControlPart>,
    pub(crate) throttle: Option<ControlPart>,
    pub(crate) breaker: Option<ControlPart>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) heeds_pushback: Option<bool>,
    pub(crate) needs: Option<Nanos>,
}

/// All policies of the file.
#[derive(Debug, Default)]
pub(crate) struct Partials {
    pub(crate) default: Option<Partial>,
    pub(crate) callees: Vec<(Target, Partial)>,
    pub(crate) edges: Vec<((Caller, Target), Partial)>,
}

pub(crate) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>, caches: &[Cache]) -> Partials {
    let mut all = Partials::default();
    let Some(node) = fields.node("policies") else {
        return all;
    };
    let Some(entries) = node.entries() else {
        reader.error(
            Draft::new(node.span, "`policies` must be a mapping")
                .found(node.found())
                .expected(Names::Policy.expected()),
        );
        return all;
    };
    let mut first: HashMap<(Caller, Target), Span> = HashMap::new();
    for entry in entries {
        let partial = policy(reader, entry);
        let key = entry.key.text.trim();
        if key == "default" {
            all.default = partial;
        } else if let Some((from, to)) = key.split_once("->") {
            let from = caller(reader, from.trim(), entry.key.span, caches);
            let to = calls::target(reader, to.trim(), entry.key.span);
            if let (Some(from), Some(to), Some(partial)) = (from, to, partial) {
                let edge = (from, to);
                twice(reader, entry, first.insert(edge, partial.at));
                all.edges.push((edge, partial));
            }
        } else if let Some(to) = callee(reader, key, entry.key.span)
            && let Some(partial) = partial
        {
            all.callees.push((to, partial));
        }
    }
    all
}

fn twice(reader: &mut Reader<'_>, entry: &Entry, first: Option<Span>) {
    if let Some(first) = first {
        reader.error(
            Draft::new(entry.key.span, "this call has two policies")
                .found(quoted(&entry.key.text))
                .expected("one policy for each call")
                .also(first, "first here"),
        );
    }
}

fn callee(reader: &mut Reader<'_>, name: &str, at: Span) -> Option<Target> {
    let near = reader.near(name, ["default"].into_iter());
    if near.is_some() && reader.names.services.find(name).is_none() {
        reader.error(
            Draft::new(at, format!("there is no service or cache {}", quoted(name)))
                .expected(Names::Policy.expected())
                .suggest(near),
        );
        return None;
    }
    calls::target(reader, name, at)
}

fn caller(reader: &mut Reader<'_>, name: &str, at: Span, caches: &[Cache]) -> Option<Caller> {
    if name == "client" {
        return Some(Caller::Client);
    }
    if let Some(i) = reader.names.services.find(name) {
        return Some(Caller::Service(ServiceId(i as u32)));
    }
    if let Some(i) = reader.names.caches.find(name) {
        if caches[i].mode == CacheMode::ReadThrough {
            return Some(Caller::Cache(CacheId(i as u32)));
        }
        reader.error(
            Draft::new(
                at,
                format!(
                    "the cache `{name}` makes no calls: it is look-aside, its callers ask the store"
                ),
            )
            .expected("`client`, a service, or a read-through cache before `->`"),
        );
        return None;
    }
    let names = reader.names.services.iter().map(String::as_str);
    let near = reader.near(name, names.chain(["client"]));
    reader.error(
        Draft::new(at, format!("there is no caller {}", quoted(name)))
            .expected("`client`, a service, or a read-through cache before `->`")
            .suggest(near),
    );
    None
}

fn policy(reader: &mut Reader<'_>, entry: &Entry) -> Option<Partial> {
    let f = reader.section(&entry.value, &POLICY, entry.key.span)?;
    let mut partial = Partial {
        at: entry.key.span,
        timeout: None,
        deadline: None,
        travels: None,
        limits: vec![None; reader.names.classes.len()],
        on: None,
        backoff: None,
        budget: None,
        throttle: None,
        breaker: None,
        idempotent: None,
        heeds_pushback: None,
        needs: None,
    };
    partial.timeout = time_or_none(reader, &f, "timeout");
    match f.entry("deadline") {
        Some(e) if e.value.is_map() => {
            if let Some(d) = reader.section(&e.value, &DEADLINE, e.key.span) {
                partial.deadline = time_or_none(reader, &d, "total");
                partial.travels = reader.flag(&d, "travels");
            }
        }
        _ => partial.deadline = time_or_none(reader, &f, "deadline"),
    }
    if let Some(e) = f.entry("retry")
        && let Some(r) = reader.section(&e.value, &RETRY, e.key.span)
    {
        limits(reader, &r, &mut partial.limits);
        partial.on = r.node("on").and_then(|n| on(reader, n));
        partial.backoff = r.entry("backoff").and_then(|e| backoff(reader, &r, e));
        partial.budget = r.entry("budget").and_then(|e| control::read(reader, e, Of::Budget));
        partial.needs = reader.duration(&r, "needs");
        partial.heeds_pushback = reader.word(&r, "pushback").map(|word| word == "heed");
    }
    partial.throttle = f.entry("throttle").and_then(|e| control::read(reader, e, Of::Throttle));
    partial.breaker = f.entry("breaker").and_then(|e| control::read(reader, e, Of::Breaker));
    partial.idempotent = reader.flag(&f, "idempotent");
    Some(partial)
}

fn time_or_none(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    key: &str,
) -> Option<Placed<Option<Nanos>>> {
    let time = match reader.value(f, key)? {
        Val::Duration(d) => Some(d),
        _ => None,
    };
    Some(Placed(time, f.span(key)))
}

fn limits(reader: &mut Reader<'_>, f: &Fields<'_>, limits: &mut [Option<Placed<u32>>]) {
    let Some(entry) = f.entry("limit") else {
        return;
    };
    if !entry.value.is_map() {
        if let Some(limit) = reader.count32(f, "limit") {
            limits.fill(Some(Placed(limit, entry.value.span)));
        }
        return;
    }
    for e in entry.value.entries().unwrap_or_default() {
        let class = calls::class(reader, e);
        let limit = reader.scalar(&e.value, &LIMIT);
        if let (Some(class), Some(Val::Count(limit))) = (class, limit) {
            limits[class] = Some(Placed(limit as u32, e.value.span));
        }
    }
}

fn on(reader: &mut Reader<'_>, node: &Node) -> Option<RetryOn> {
    let words = reader.one_or_many(node, &CONDITION)?;
    let mut on = RetryOn::NONE;
    for (name, condition) in RetryOn::NAMES {
        if words.contains(&Val::Word(name)) {
            on = on | condition;
        }
    }
    Some(on)
}

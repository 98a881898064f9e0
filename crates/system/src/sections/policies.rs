//! `policies:`: what each says; [`super::merge`] puts them together.

use std::collections::HashMap;

use damper_control::registry::{BUDGETS, BudgetEntry, Unit};
use damper_control::{Jitter, Nanos, RetryOn};

use super::calls;
use crate::model::{Cache, CacheId, CacheMode, Caller, ServiceId, Target};
use crate::node::{Entry, Node, Value, quoted};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, Tagged, Variant, optional, otherwise, required, words};
use crate::source::Span;

const TIME: Kind = Kind::Duration { zero: false };
const LIMIT: Kind = Kind::Count {
    min: 0,
    max: 1_000_000,
};
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
        optional(
            "timeout",
            Kind::Either(&[TIME, NONE]),
            "none",
            "how long one attempt may take",
        ),
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

static RETRY: Section = Section {
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
            Kind::Either(&[NONE, Kind::Tagged(&BACKOFFS)]),
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
            Kind::Either(&[NONE, Kind::Budget]),
            "none",
            "how many retries, over all calls of a caller to a callee",
        ),
    ],
};

static BACKOFF: Section = Section {
    name: "backoff",
    doc: "When a retry is sent. Without `kind` the fields change the backoff of the less specific policy.",
    keys: &[
        required(
            "kind",
            Kind::Word(&["none", "constant", "linear", "exponential"]),
            "how the delay grows with the number of the retry",
        ),
        otherwise("base", TIME, "needed by all but `none`", "the first delay"),
        optional(
            "factor",
            Kind::Factor {
                min: 1.0,
                max: 1_000.0,
            },
            "2x",
            "growth of an exponential backoff",
        ),
        otherwise("max", TIME, "no bound", "no delay exceeds this"),
        optional(
            "jitter",
            Kind::Word(&["none", "equal", "full", "decorrelated", "exponential"]),
            "none",
            "how chance spreads the delay",
        ),
    ],
};

pub(crate) static BACKOFFS: Tagged = Tagged {
    section: &BACKOFF,
    partial: true,
    variants: &[
        variant("none", &[], &[]),
        variant("constant", &["base"], &["max", "jitter"]),
        variant("linear", &["base"], &["max", "jitter"]),
        variant("exponential", &["base"], &["factor", "max", "jitter"]),
    ],
};

const fn variant(
    name: &'static str,
    needs: &'static [&'static str],
    may: &'static [&'static str],
) -> Variant {
    Variant { name, needs, may }
}

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
    pub(crate) budget: Option<BudgetPart>,
}

/// What one policy says about the backoff.
#[derive(Clone, Debug)]
pub(crate) struct BackoffPart {
    pub(crate) at: Span,
    pub(crate) kind: Option<&'static Variant>,
    pub(crate) base: Option<Placed<Nanos>>,
    pub(crate) factor: Option<Placed<f64>>,
    pub(crate) max: Option<Placed<Nanos>>,
    pub(crate) jitter: Option<Placed<Jitter>>,
}

/// What one policy says about the budget.
#[derive(Clone, Debug)]
pub(crate) struct BudgetPart {
    pub(crate) at: Span,
    /// `Some(None)` is `none`.
    pub(crate) kind: Option<Option<&'static BudgetEntry>>,
    pub(crate) values: Vec<(String, Placed<f64>)>,
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
        partial.budget = r.entry("budget").and_then(|e| budget(reader, e));
    }
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

fn backoff(reader: &mut Reader<'_>, f: &Fields<'_>, entry: &Entry) -> Option<BackoffPart> {
    let mut part = BackoffPart {
        at: entry.key.span,
        kind: None,
        base: None,
        factor: None,
        max: None,
        jitter: None,
    };
    if !entry.value.is_map() {
        let word = entry.value.scalar().unwrap_or_default();
        let kind = BACKOFFS.variants.iter().find(|v| v.name == word);
        if let Some(kind) = kind.filter(|k| !k.needs.is_empty()) {
            let message = format!("`{word}` needs a base, and stands in a mapping");
            reader.error(
                Draft::new(entry.value.span, message)
                    .found(quoted(word))
                    .expected("`none`, or a mapping with `kind`")
                    .suggest(Some(format!("{{kind: {}, base: 25ms}}", kind.name))),
            );
            return None;
        }
        reader.value(f, "backoff")?;
        part.kind = kind;
        return Some(part);
    }
    // No check of what is missing: a less specific policy may have it.
    let f = reader.part(&entry.value, &BACKOFF, entry.key.span)?;
    if f.has("kind") {
        let kind = reader.word(&f, "kind")?;
        part.kind = BACKOFFS.variants.iter().find(|v| v.name == kind);
    }
    let base = reader.duration(&f, "base");
    part.base = base.map(|b| Placed(b, f.span("base")));
    let factor = reader.number(&f, "factor");
    part.factor = factor.map(|x| Placed(x, f.span("factor")));
    let max = reader.duration(&f, "max");
    part.max = max.map(|m| Placed(m, f.span("max")));
    let jitter = reader.word(&f, "jitter").map(|word| match word {
        "equal" => Jitter::Equal,
        "full" => Jitter::Full,
        "decorrelated" => Jitter::Decorrelated,
        "exponential" => Jitter::Exponential,
        _ => Jitter::None,
    });
    part.jitter = jitter.map(|j| Placed(j, f.span("jitter")));
    Some(part)
}

fn budget(reader: &mut Reader<'_>, entry: &Entry) -> Option<BudgetPart> {
    let mut part = BudgetPart {
        at: entry.key.span,
        kind: None,
        values: Vec::new(),
    };
    let names: Vec<&str> = BUDGETS.iter().map(|b| b.name).chain(["none"]).collect();
    let Value::Map(entries) = &entry.value.value else {
        if entry.value.scalar() == Some("none") {
            part.kind = Some(None);
            return Some(part);
        }
        let known = entry.value.scalar().filter(|s| names.contains(s));
        reader.error(
            Draft::new(entry.value.span, "this is not a budget")
                .found(entry.value.found())
                .expected("`none` or a mapping such as `{kind: token-bucket}`")
                .suggest(known.map(|s| format!("{{kind: {s}}}"))),
        );
        return None;
    };
    if let Some(kind) = entry.value.child("kind") {
        let text = kind.value.scalar().unwrap_or_default();
        if !names.contains(&text) {
            reader.error(
                Draft::new(kind.value.span, "this budget is not known")
                    .found(kind.value.found())
                    .expected(words::list(&names))
                    .suggest(reader.near(text, names.iter().copied())),
            );
            return None;
        }
        part.kind = Some(BUDGETS.iter().find(|b| b.name == text));
    }
    let of_kind: Vec<_> = match part.kind {
        Some(entry) => entry
            .map(|e| e.parameters)
            .unwrap_or_default()
            .iter()
            .collect(),
        None => BUDGETS.iter().flat_map(|b| b.parameters).collect(),
    };
    for e in entries.iter().filter(|e| e.key.text != "kind") {
        let Some(parameter) = of_kind.iter().find(|p| p.name == e.key.text) else {
            let mut known: Vec<&str> = of_kind.iter().map(|p| p.name).collect();
            known.push("kind");
            reader.unknown_key(&e.key, &known, "budget");
            continue;
        };
        let kind = parameter_kind(parameter.unit);
        let value = match reader.scalar(&e.value, &kind) {
            Some(Val::Count(n)) => n as f64,
            // The constructor sees percentages; undo the noise of the binary fraction.
            Some(Val::Number(x)) if parameter.unit == Unit::Percent => (x * 1e11).round() / 1e9,
            Some(Val::Number(x)) => x,
            _ => continue,
        };
        part.values
            .push((e.key.text.clone(), Placed(value, e.value.span)));
    }
    Some(part)
}

pub(crate) fn parameter_kind(unit: Unit) -> Kind {
    match unit {
        Unit::Count => Kind::Count {
            min: 0,
            max: 4_294_967_295,
        },
        Unit::Percent => Kind::Share { zero: true },
        _ => Kind::Number { min: 0.0, max: 1e9 },
    }
}

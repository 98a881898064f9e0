//! `triggers:`: what goes wrong for a while.

use std::collections::HashSet;

use damper_control::Nanos;

use crate::model::{Action, ActionKind, CacheId, Service, ServiceId, Spike, Trigger};
use crate::node::{Node, Value};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, Tagged, Variant, optional, otherwise};
use crate::source::Span;

const SERVICES: Kind = Kind::OneOrMany(&SERVICE);
const SERVICE: Kind = Kind::Name(Names::Service);
const CACHE: Kind = Kind::Name(Names::Cache);
const SHARE: Kind = Kind::Share { zero: false };
const RATE: Kind = Kind::Rate { zero: true };

/// One action; a trigger is one or a list of them.
pub(crate) const ACTIONS: Kind = Kind::Keyed(&ACTION_KINDS);

static ACTION: Section = Section {
    name: "action",
    doc: "One thing that goes wrong: exactly one of the first eight keys, with what it needs.",
    keys: &[
        otherwise("outage", SERVICES, "", "these services stop working"),
        otherwise("slowdown", SERVICES, "", "their service times are multiplied by `factor`"),
        otherwise(
            "capacity_loss",
            SERVICES,
            "",
            "this `share` of their workers and rate limit is gone",
        ),
        otherwise("error_rate", SERVICES, "", "their attempts fail with probability `rate`"),
        otherwise("added_latency", SERVICES, "", "attempts reach them later by `latency`"),
        otherwise(
            "load_spike",
            Kind::Name(Names::ClassOrAll),
            "",
            "the load of a class or of all is multiplied by `factor`, or set to `rate`",
        ),
        otherwise("cache_flush", Kind::OneOrMany(&CACHE), "", "these caches lose everything"),
        otherwise(
            "restart",
            SERVICES,
            "",
            "their instances are restarted, all at once or at a `rate`, and start as `start` says",
        ),
        optional(
            "mode",
            Kind::Word(&["silent", "refuse"]),
            "silent",
            "outage: attempts wait in silence, or are rejected",
        ),
        otherwise(
            "factor",
            Kind::Factor { min: 0.0, max: 1e6 },
            "",
            "slowdown, load spike: how many times",
        ),
        otherwise("share", SHARE, "", "capacity loss: how much is gone"),
        otherwise(
            "rate",
            Kind::Either(&[Kind::Share { zero: false }, RATE]),
            "",
            "error rate: a percentage; load spike: requests per second, of all classes together; restart: instances per second",
        ),
        otherwise("latency", Kind::Duration { zero: false }, "", "added latency: how much"),
        otherwise(
            "for",
            Kind::Duration { zero: false },
            "needed by all but `cache_flush` and `restart`",
            "how long it lasts",
        ),
        optional(
            "after",
            Kind::Duration { zero: true },
            "0s",
            "how long after the start of the trigger",
        ),
    ],
};

pub(crate) static ACTION_KINDS: Tagged = Tagged {
    section: &ACTION,
    partial: false,
    variants: &[
        variant("outage", &["for"], &["mode", "after"]),
        variant("slowdown", &["factor", "for"], &["after"]),
        variant("capacity_loss", &["share", "for"], &["after"]),
        variant("error_rate", &["rate", "for"], &["after"]),
        variant("added_latency", &["latency", "for"], &["after"]),
        variant("load_spike", &["for"], &["factor", "rate", "after"]),
        variant("cache_flush", &[], &["after"]),
        variant("restart", &[], &["rate", "after"]),
    ],
};

const fn variant(
    name: &'static str,
    needs: &'static [&'static str],
    may: &'static [&'static str],
) -> Variant {
    Variant { name, needs, may }
}

pub(crate) fn lower(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    services: &[Service],
) -> Vec<Trigger> {
    let entries = fields.node("triggers").and_then(|n| n.entries());
    let entries = entries.unwrap_or_default();
    let mut triggers = Vec::new();
    for entry in entries {
        let one = std::slice::from_ref(&entry.value);
        let items = match &entry.value.value {
            Value::Seq(items) if !items.is_empty() => items.as_slice(),
            Value::Map(_) => one,
            _ => {
                reader.error(
                    Draft::new(entry.value.span, "a trigger needs at least one action")
                        .found(entry.value.found())
                        .expected("a list such as `[{outage: db, for: 2s}]`"),
                );
                &[]
            }
        };
        let actions = items.iter().filter_map(|item| {
            let at = if item.is_map() { item.span } else { entry.key.span };
            action(reader, item, at, services)
        });
        triggers.push(Trigger { name: entry.key.text.clone(), actions: actions.collect() });
    }
    triggers
}

fn action(reader: &mut Reader<'_>, item: &Node, at: Span, services: &[Service]) -> Option<Action> {
    let (variant, f) = reader.keyed(item, &ACTION_KINDS, at)?;
    let lasts = reader.duration(&f, "for");
    let after = reader.duration(&f, "after").unwrap_or(Nanos::ZERO);
    let kind = kind(reader, variant.name, &f, services);
    let kind = kind?;
    let lasts = match &kind {
        ActionKind::CacheFlush { .. } => Nanos::ZERO,
        // The last instance goes when all the others have gone.
        ActionKind::Restart { services: which, gap } => {
            let most = which.iter().map(|s| services[s.0 as usize].most_instances()).max();
            Nanos(gap.0.saturating_mul(u64::from(most.unwrap_or(1)) - 1))
        }
        _ => lasts?,
    };
    Some(Action { kind, after, lasts })
}

fn kind(
    reader: &mut Reader<'_>,
    name: &str,
    f: &Fields<'_>,
    services: &[Service],
) -> Option<ActionKind> {
    let node = f.node(name)?;
    match name {
        "load_spike" => return spike(reader, f, node),
        "cache_flush" => {
            let caches = ids(reader, node, &CACHE)?.into_iter().map(CacheId).collect();
            return Some(ActionKind::CacheFlush { caches });
        }
        _ => {}
    }
    let which: Option<Vec<ServiceId>> =
        ids(reader, node, &SERVICE).map(|ids| ids.into_iter().map(ServiceId).collect());
    match name {
        "outage" => {
            let refuse = reader.word(f, "mode") == Some("refuse");
            Some(ActionKind::Outage { services: which?, refuse })
        }
        "slowdown" => {
            let factor = reader.number(f, "factor")?;
            Some(ActionKind::Slowdown { services: which?, factor })
        }
        "capacity_loss" => {
            let share = reader.number(f, "share")?;
            let which = which?;
            let free = which
                .iter()
                .map(|s| &services[s.0 as usize])
                .find(|s| s.workers.is_none() && s.rate_limit.is_none());
            if let Some(free) = free {
                reader.warn(
                    Draft::new(node.span, format!("`{}` has no capacity to lose", free.name))
                        .expected("a service with `workers` or a `rate_limit`"),
                );
            }
            Some(ActionKind::CapacityLoss { services: which, share })
        }
        "restart" => {
            let gap = match f.node("rate") {
                None => Nanos::ZERO,
                Some(rate) => match reader.scalar(rate, &Kind::Rate { zero: false })? {
                    Val::Number(rate) => Nanos::from_secs_f64(1.0 / rate),
                    _ => return None,
                },
            };
            Some(ActionKind::Restart { services: which?, gap })
        }
        "error_rate" => match reader.scalar(f.node("rate")?, &SHARE)? {
            Val::Number(rate) => Some(ActionKind::ErrorRate { services: which?, rate }),
            _ => None,
        },
        _ => {
            let latency = reader.duration(f, "latency")?;
            Some(ActionKind::AddedLatency { services: which?, latency })
        }
    }
}

fn spike(reader: &mut Reader<'_>, f: &Fields<'_>, node: &Node) -> Option<ActionKind> {
    let class = match reader.scalar(node, &Kind::Name(Names::ClassOrAll)) {
        Some(Val::Id(class)) => Some(class as u8),
        Some(_) => None,
        None => return None,
    };
    let height = match (f.node("factor"), f.node("rate")) {
        (Some(_), None) => Spike::Factor(reader.number(f, "factor")?),
        (None, Some(rate)) => match reader.scalar(rate, &RATE)? {
            Val::Number(rate) => Spike::Rate(rate),
            _ => return None,
        },
        (both, _) => {
            let message = if both.is_some() {
                "`factor` and `rate` exclude each other"
            } else {
                "`load_spike` needs `factor` or `rate`"
            };
            let at = f.entry("rate").or(f.entry("load_spike"));
            let at = at.map_or(f.at, |e| e.key.span);
            reader.error(
                Draft::new(at, message)
                    .expected("`factor:` how many times, or `rate:` requests per second"),
            );
            return None;
        }
    };
    Some(ActionKind::LoadSpike { class, height })
}

fn ids(reader: &mut Reader<'_>, node: &Node, kind: &Kind) -> Option<Vec<u32>> {
    let values = reader.one_or_many(node, kind)?;
    let mut ids = Vec::new();
    let mut seen = HashSet::new();
    for (i, value) in values.iter().enumerate() {
        let Val::Id(id) = value else {
            return None;
        };
        let id = *id as u32;
        if !seen.insert(id) {
            let at = match &node.value {
                Value::Seq(items) => items.get(i).map_or(node.span, |n| n.span),
                _ => node.span,
            };
            reader.error(Draft::new(at, "this name stands here twice").expected("each name once"));
            return None;
        }
        ids.push(id);
    }
    Some(ids)
}

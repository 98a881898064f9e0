//! A control of the registry, as far as one place of the file says it: a word, or a mapping
//! with `kind` and parameters.

use damper_control::entry::{Entry, Kind as Of, Parameter, Unit};
use damper_control::registry;

use super::policies::Placed;
use super::retry_parts::BACKOFFS;
use crate::model::{Made, Spec};
use crate::node::{self, Value};
use crate::problem::Draft;
use crate::read::{Reader, Val};
use crate::schema::{Kind, words};
use crate::source::Span;

/// What one place says about a control.
#[derive(Clone, Debug)]
pub(crate) struct ControlPart {
    pub(crate) of: Of,
    pub(crate) at: Span,
    /// `Some(None)` is `none`.
    pub(crate) kind: Option<Option<&'static Entry>>,
    pub(crate) values: Vec<(String, Placed<f64>)>,
}

/// The controls that may stand in a place for one of this kind. Backoffs that have a section of
/// their own are not among them.
pub(crate) fn entries(of: Of) -> impl Iterator<Item = &'static Entry> {
    let own =
        move |e: &&Entry| of != Of::Backoff || BACKOFFS.variants.iter().all(|v| v.name != e.name);
    registry::of(of).filter(own)
}

/// Whether there may be none, and that is said by `none`.
pub(crate) fn may_be_none(of: Of) -> bool {
    !matches!(of, Of::Order | Of::Backoff)
}

/// Names that may stand at `kind` of a control.
pub(crate) fn names(of: Of) -> Vec<&'static str> {
    let mut names: Vec<&str> = entries(of).map(|e| e.name).collect();
    if may_be_none(of) && !names.contains(&"none") {
        names.push("none");
    }
    names
}

/// The entry of a name; `Some(None)` is `none`.
fn named(of: Of, name: &str) -> Option<Option<&'static Entry>> {
    if name == "none" && may_be_none(of) {
        return Some(None);
    }
    entries(of).find(|e| e.name == name).map(Some)
}

/// What the section of these controls is called in the schema and the reference.
pub(crate) fn section_name(of: Of) -> &'static str {
    if of == Of::Backoff { "published-backoff" } else { of.name() }
}

pub(crate) fn read(reader: &mut Reader<'_>, entry: &node::Entry, of: Of) -> Option<ControlPart> {
    let mut part = ControlPart { of, at: entry.key.span, kind: None, values: Vec::new() };
    let names = names(of);
    let (word, given) = match &entry.value.value {
        Value::Map(given) => (entry.value.child("kind").map(|k| &k.value), given.as_slice()),
        _ => (Some(&entry.value), [].as_slice()),
    };
    if let Some(word) = word {
        let text = word.scalar().unwrap_or_default();
        let Some(kind) = named(of, text) else {
            let what = if word.scalar().is_some() {
                format!("this {} is not known", noun(of))
            } else {
                format!("this is not {}", a_noun(of))
            };
            reader.error(
                Draft::new(word.span, what)
                    .found(word.found())
                    .expected(words::list(&names))
                    .suggest(reader.near(text, names.iter().copied())),
            );
            return None;
        };
        part.kind = Some(kind);
    }
    let of_kind: Vec<&Parameter> = match part.kind {
        Some(entry) => entry.map(|e| e.parameters).unwrap_or_default().iter().collect(),
        None => entries(of).flat_map(|e| e.parameters).collect(),
    };

    for e in given.iter().filter(|e| e.key.text != "kind") {
        // Without a kind the widest range of the name holds: the kind that it will be merged with
        // has its own.
        let same = of_kind.iter().filter(|p| p.name == e.key.text);
        let Some(parameter) = same.max_by(|a, b| (a.max - a.min).total_cmp(&(b.max - b.min)))
        else {
            let mut known: Vec<&str> = Vec::new();
            for name in of_kind.iter().map(|p| p.name).chain(["kind"]) {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            reader.unknown_key(&e.key, &known, noun(of));
            continue;
        };
        let value = match reader.scalar(&e.value, &parameter_kind(parameter)) {
            Some(Val::Count(n)) => n as f64,
            // The constructor sees percentages; undo the noise of the binary fraction.
            Some(Val::Number(x)) if parameter.unit == Unit::Percent => (x * 1e11).round() / 1e9,
            Some(Val::Number(x)) => x,
            Some(Val::Duration(d)) => d.as_secs_f64(),
            Some(Val::Flag(flag)) => f64::from(u8::from(flag)),
            _ => continue,
        };
        part.values.push((e.key.text.clone(), Placed(value, e.value.span)));
    }
    Some(part)
}

/// The more specific of two: its parameters, on those of the less specific if it has no kind.
pub(crate) fn merge(less: Option<ControlPart>, more: &ControlPart) -> ControlPart {
    match less {
        Some(mut less) if more.kind.is_none() => {
            less.at = more.at;
            less.values.extend(more.values.iter().cloned());
            less
        }
        _ => more.clone(),
    }
}

/// Makes the control. `Some(None)`: there is to be none. `None`: there is something wrong.
///
/// `elsewhere` gives the value of a parameter that stands in another place of the file, where
/// this place does not have it.
pub(crate) fn build<T: Made>(
    reader: &mut Reader<'_>,
    part: &ControlPart,
    elsewhere: &[(&str, f64)],
) -> Option<Option<Spec<T>>> {
    let noun = noun(part.of);
    let Some(kind) = part.kind else {
        let in_policy = matches!(part.of, Of::Budget | Of::Throttle | Of::Breaker | Of::Backoff);
        reader.error(
            Draft::new(
                part.at,
                if in_policy {
                    format!("this {noun} has no kind, and no less specific policy has one")
                } else {
                    format!("this {noun} has no kind")
                },
            )
            .found("no `kind`")
            .expected(format!("`kind:` the name of {}", a_noun(part.of))),
        );
        return None;
    };
    let known: &[_] = kind.map(|k| k.parameters).unwrap_or_default();
    let name = kind.map_or("none", |k| k.name);
    let default = |p: &Parameter| {
        elsewhere.iter().find(|(name, _)| *name == p.name).map_or(p.default, |(_, x)| *x)
    };
    let mut values: Vec<f64> = known.iter().map(default).collect();
    for (key, Placed(value, at)) in &part.values {
        let Some(i) = known.iter().position(|p| p.name == key) else {
            let names: Vec<&str> = known.iter().map(|p| p.name).collect();
            let expected =
                if names.is_empty() { "no other key".to_owned() } else { words::list(&names) };
            reader.error(
                Draft::new(*at, format!("`{key}` does not apply to the {noun} `{name}`"))
                    .expected(expected),
            );
            return None;
        };
        values[i] = *value;
    }
    let Some(entry) = kind else {
        return Some(None);
    };
    let Some(spec) = Spec::new(entry, values) else {
        let docs: Vec<String> = known.iter().map(range).collect();
        let at = part.values.last().map_or(part.at, |(_, p)| p.1);
        reader.error(
            Draft::new(at, format!("the {noun} `{name}` does not allow these values"))
                .expected(docs.join("; ")),
        );
        return None;
    };
    Some(Some(spec))
}

/// Reads and makes one at once, where nothing is merged.
pub(crate) fn one<T: Made>(
    reader: &mut Reader<'_>,
    entry: Option<&node::Entry>,
    of: Of,
    elsewhere: &[(&str, f64)],
) -> Option<Spec<T>> {
    let part = read(reader, entry?, of)?;
    build(reader, &part, elsewhere)?
}

/// Whether a control stands at this key, so that a word there is short for `{kind: word}`.
pub(crate) fn stands_at(key: &str) -> bool {
    let sections = [&super::services::SERVICE, &super::policies::POLICY, &super::policies::RETRY];
    let is_control = |kind: &Kind| match kind {
        Kind::Either(kinds) => kinds.iter().any(|k| matches!(k, Kind::Control(_))),
        kind => matches!(kind, Kind::Control(_)),
    };
    sections.iter().flat_map(|s| s.keys).any(|k| k.name == key && is_control(&k.kind))
}

/// What people call a control of this kind.
pub(crate) fn noun(of: Of) -> &'static str {
    match of {
        Of::Concurrency => "concurrency limit",
        Of::Drop => "drop rule",
        Of::Admission => "admission rule",
        _ => of.name(),
    }
}

fn a_noun(of: Of) -> String {
    let noun = noun(of);
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// `name`: from … to …
fn range(p: &Parameter) -> String {
    let (min, max) = (p.unit.show(p.min), p.unit.show(p.max));
    if p.max < 1e15 {
        format!("`{}` from {min} to {max}", p.name)
    } else {
        format!("`{}` at least {min}", p.name)
    }
}

/// What the reader and the schema know a parameter as.
pub(crate) fn parameter_kind(p: &Parameter) -> Kind {
    match p.unit {
        Unit::Count => Kind::Count {
            min: p.min.max(0.0) as u64,
            max: if p.max < 1e15 { p.max as u64 } else { u64::MAX },
        },
        Unit::Percent if p.max > 100.0 => Kind::Percent { max: p.max },
        Unit::Percent => Kind::Share { zero: p.min <= 0.0 },
        Unit::Duration => Kind::Duration { zero: p.min <= 0.0 },
        Unit::Rate => Kind::Rate { zero: p.min <= 0.0 },
        Unit::Flag => Kind::Flag,
        _ => Kind::Number { min: p.min, max: p.max.min(1e15) },
    }
}

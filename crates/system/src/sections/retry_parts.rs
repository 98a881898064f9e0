//! `backoff:` and `budget:` of a policy, as far as one policy says them.

use damper_control::registry::{BUDGETS, BudgetEntry, Unit};
use damper_control::{Jitter, Nanos};

use super::policies::Placed;
use crate::node::{Entry, Value, quoted};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Section, Tagged, Variant, optional, otherwise, required, words};
use crate::source::Span;

const TIME: Kind = Kind::Duration { zero: false };

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
            Kind::Factor { min: 1.0, max: 1_000.0 },
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

pub(crate) fn backoff(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    entry: &Entry,
) -> Option<BackoffPart> {
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

pub(crate) fn budget(reader: &mut Reader<'_>, entry: &Entry) -> Option<BudgetPart> {
    let mut part = BudgetPart { at: entry.key.span, kind: None, values: Vec::new() };
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
        Some(entry) => entry.map(|e| e.parameters).unwrap_or_default().iter().collect(),
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
        part.values.push((e.key.text.clone(), Placed(value, e.value.span)));
    }
    Some(part)
}

pub(crate) fn parameter_kind(unit: Unit) -> Kind {
    match unit {
        Unit::Count => Kind::Count { min: 0, max: 4_294_967_295 },
        Unit::Percent => Kind::Share { zero: true },
        _ => Kind::Number { min: 0.0, max: 1e9 },
    }
}

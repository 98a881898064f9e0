//! `backoff:` of a policy, as far as one policy says it.

use damper_control::{Jitter, Kind as Of, Nanos};

use super::control::{self, ControlPart};
use super::policies::Placed;
use crate::node::{Entry, quoted};
use crate::problem::Draft;
use crate::read::{Fields, Reader};
use crate::schema::{Kind, Section, Tagged, Variant, optional, otherwise, required};
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
    /// One of the published schedules instead.
    pub(crate) published: Option<ControlPart>,
    pub(crate) base: Option<Placed<Nanos>>,
    pub(crate) factor: Option<Placed<f64>>,
    pub(crate) max: Option<Placed<Nanos>>,
    pub(crate) jitter: Option<Placed<Jitter>>,
}

impl BackoffPart {
    /// The more specific of two: its fields, on those of the less specific if it has no kind.
    pub(crate) fn over(&self, less: Option<Self>) -> Self {
        let Some(less) = less.filter(|_| self.kind.is_none() && self.published.is_none()) else {
            return self.clone();
        };
        let published = less.published.map(|mut published| {
            let seconds = |d: Placed<Nanos>| Placed(d.0.as_secs_f64(), d.1);
            let fields = [
                ("base", self.base.map(seconds)),
                ("factor", self.factor),
                ("max", self.max.map(seconds)),
            ];
            for (key, value) in fields {
                published.values.extend(value.map(|value| (key.to_owned(), value)));
            }
            published
        });
        Self {
            at: self.at,
            kind: less.kind,
            published,
            base: self.base.or(less.base),
            factor: self.factor.or(less.factor),
            max: self.max.or(less.max),
            jitter: self.jitter.or(less.jitter),
        }
    }
}

pub(crate) fn backoff(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    entry: &Entry,
) -> Option<BackoffPart> {
    let mut part = BackoffPart {
        at: entry.key.span,
        kind: None,
        published: None,
        base: None,
        factor: None,
        max: None,
        jitter: None,
    };
    let word = entry.value.child("kind").map_or(&entry.value, |kind| &kind.value).scalar();
    if word.is_some_and(|word| control::entries(Of::Backoff).any(|e| e.name == word)) {
        part.published = Some(control::read(reader, entry, Of::Backoff)?);
        return Some(part);
    }
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

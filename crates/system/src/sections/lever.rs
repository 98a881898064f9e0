//! `lever:` of a service: what the operator does during a run.

use damper_control::Nanos;
use damper_control::lever::{Action, ClassSet, Level, Ramp};

use crate::model::Pull;
use crate::node::{Node, Value};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, Tagged, Variant, optional, otherwise};
use crate::source::Span;

const CLASSES: Kind = Kind::OneOrMany(&WHICH);
const WHICH: Kind = Kind::Name(Names::ClassOrAll);
const LEVEL: Kind = Kind::Either(&[Kind::Rate { zero: true }, Kind::Share { zero: true }]);
const SOME: Kind = Kind::Either(&[Kind::Rate { zero: false }, Kind::Share { zero: false }]);

/// One pull, or a list of them.
pub(crate) const PULLS: Kind = Kind::OneOrMany(&PULL);
const PULL: Kind = Kind::Keyed(&PULLS_BY_KEY);

static PULL_SECTION: Section = Section {
    name: "lever",
    doc: "One pull of the operator's lever at the door of a service: exactly one of the first five keys, which says for whom.",
    keys: &[
        otherwise("open", CLASSES, "", "lets these classes through, or `all`"),
        otherwise("pause", CLASSES, "", "lets none of them through"),
        otherwise("hold", CLASSES, "", "stays at the rate that a ramp has reached"),
        otherwise("throttle", CLASSES, "", "lets only `rate` of them through, together"),
        otherwise("ramp", CLASSES, "", "from `from` to `to` within `over`, and stays there"),
        otherwise("rate", SOME, "", "throttle: attempts per second, or a share of them"),
        otherwise("from", LEVEL, "", "ramp: where it begins"),
        otherwise("to", LEVEL, "", "ramp: where it ends, of the same kind"),
        otherwise("over", Kind::Duration { zero: false }, "", "ramp: how long it takes"),
        optional(
            "after",
            Kind::Duration { zero: true },
            "0s",
            "how long after the start of the trigger",
        ),
    ],
};

pub(crate) static PULLS_BY_KEY: Tagged = Tagged {
    section: &PULL_SECTION,
    partial: false,
    variants: &[
        variant("open", &[]),
        variant("pause", &[]),
        variant("hold", &[]),
        variant("throttle", &["rate"]),
        variant("ramp", &["from", "to", "over"]),
    ],
};

const fn variant(name: &'static str, needs: &'static [&'static str]) -> Variant {
    Variant { name, needs, may: &["after"] }
}

/// What the operator does, in the order of time.
pub(crate) fn lower(reader: &mut Reader<'_>, f: &Fields<'_>) -> Vec<Pull> {
    let Some(entry) = f.entry("lever") else {
        return Vec::new();
    };
    let one = std::slice::from_ref(&entry.value);
    let items = match &entry.value.value {
        Value::Seq(items) if !items.is_empty() => items.as_slice(),
        Value::Map(_) => one,
        _ => {
            reader.error(
                Draft::new(entry.value.span, "a lever needs at least one pull")
                    .found(entry.value.found())
                    .expected("a list such as `[{pause: all, after: 30s}]`"),
            );
            &[]
        }
    };
    let mut pulls: Vec<Pull> = items
        .iter()
        .filter_map(|item| {
            let at = if item.is_map() { item.span } else { entry.key.span };
            pull(reader, item, at)
        })
        .collect();
    pulls.sort_by_key(|p| p.after);
    pulls
}

fn pull(reader: &mut Reader<'_>, item: &Node, at: Span) -> Option<Pull> {
    let (variant, f) = reader.keyed(item, &PULLS_BY_KEY, at)?;
    let after = reader.duration(&f, "after").unwrap_or(Nanos::ZERO);
    let mut classes = ClassSet::NONE;
    for value in reader.one_or_many(f.node(variant.name)?, &WHICH)? {
        classes = classes.with(match value {
            Val::Id(class) => ClassSet::of(class as u8),
            _ => ClassSet::ALL,
        });
    }
    let action = match variant.name {
        "open" => Action::Open,
        "pause" => Action::Pause,
        "hold" => Action::Hold,
        "throttle" => Action::Throttle(level(reader, &f, "rate")?),
        _ => {
            let (from, to) = (level(reader, &f, "from"), level(reader, &f, "to"));
            let over = reader.duration(&f, "over")?;
            let (from, to) = (from?, to?);
            if std::mem::discriminant(&from) != std::mem::discriminant(&to) {
                reader.error(
                    Draft::new(
                        f.span("to"),
                        "a ramp goes from one rate to another, or from one share to another",
                    )
                    .found(f.node("to")?.found())
                    .expected("the same kind as `from`")
                    .also(f.span("from"), "from"),
                );
                return None;
            }
            Action::Ramp(Ramp { from, to, over, steps: 0 })
        }
    };
    Some(Pull { after, classes, action })
}

pub(crate) fn level(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str) -> Option<Level> {
    let share = f.node(key)?.scalar().is_some_and(|text| text.trim_end().ends_with('%'));
    let x = reader.number(f, key)?;
    Some(if share { Level::Share(x) } else { Level::Rate(x) })
}

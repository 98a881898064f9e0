//! `lever:` of a service: what the operator does during a run.

use damper_control::Nanos;

use crate::model::{LeverAction, Pull};
use crate::node::{Node, Value};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, Tagged, Variant, optional, otherwise};
use crate::source::Span;

const CLASSES: Kind = Kind::OneOrMany(&WHICH);
const WHICH: Kind = Kind::Name(Names::ClassOrAll);
const RATE: Kind = Kind::Rate { zero: true };

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
        otherwise("throttle", CLASSES, "", "lets `rate` of them through, together"),
        otherwise("ramp", CLASSES, "", "from `from` to `to` within `over`, then open"),
        otherwise("rate", RATE, "", "throttle: attempts per second"),
        otherwise("from", RATE, "", "ramp: attempts per second at first"),
        otherwise("to", RATE, "", "ramp: attempts per second at the end"),
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
    let mut classes = 0;
    for value in reader.one_or_many(f.node(variant.name)?, &WHICH)? {
        classes |= match value {
            Val::Id(class) => 1 << class,
            _ => u16::MAX,
        };
    }
    let action = match variant.name {
        "open" => LeverAction::Open,
        "pause" => LeverAction::Pause,
        "hold" => LeverAction::Hold,
        "throttle" => LeverAction::Throttle(reader.number(&f, "rate")?),
        _ => LeverAction::Ramp {
            from: reader.number(&f, "from")?,
            to: reader.number(&f, "to")?,
            over: reader.duration(&f, "over")?,
        },
    };
    Some(Pull { after, classes, action })
}

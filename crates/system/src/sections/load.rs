//! `load:` and `arrivals:`.

use std::path::Path;

use damper_control::Nanos;

use super::trace;
use crate::model::{Arrivals, Load};
use crate::node::{Entry, Node, Value};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Section, Tagged, Variant, optional, required, words};
use crate::source::Span;

const RATE: Kind = Kind::Rate { zero: true };
const TIME: Kind = Kind::Duration { zero: true };
const SPAN: Kind = Kind::Duration { zero: false };

/// A rate, or a mapping with one of the shapes.
pub(crate) const SHAPE: Kind = Kind::Either(&[RATE, Kind::Keyed(&SHAPE_KINDS)]);

pub(crate) const ARRIVALS: Kind =
    Kind::Either(&[Kind::Word(&["poisson", "deterministic"]), Kind::Section(&BURSTY_KEY)]);

static SHAPE_KINDS: Tagged = Tagged {
    section: &SHAPES,
    partial: false,
    variants: &[shape("steps"), shape("ramp"), shape("burst"), shape("trace")],
};

const fn shape(name: &'static str) -> Variant {
    Variant { name, needs: &[], may: &[] }
}

static SHAPES: Section = Section {
    name: "load-shape",
    doc: "A load that changes; exactly one of these keys. `300/s` alone is constant.",
    keys: &[
        optional("steps", Kind::List(&Kind::Section(&STEP)), "", "jumps at these times"),
        optional("ramp", Kind::Section(&RAMP), "", "changes steadily"),
        optional("burst", Kind::Section(&BURST), "", "rises again and again"),
        optional(
            "trace",
            Kind::Text,
            "",
            "a CSV file beside this one: seconds, requests per second; straight lines between its rows",
        ),
    ],
};

static STEP: Section = Section {
    name: "step",
    doc: "One step of a load.",
    keys: &[required("at", TIME, "from here on"), required("rate", RATE, "the load")],
};

static RAMP: Section = Section {
    name: "ramp",
    doc: "A load that changes steadily, and is constant before and after.",
    keys: &[
        required("from", RATE, "before it starts"),
        required("to", RATE, "after it has ended"),
        optional("start", TIME, "0s", "when it starts"),
        required("over", SPAN, "how long it takes"),
    ],
};

static BURST: Section = Section {
    name: "burst",
    doc: "A load that rises at the start of every period.",
    keys: &[
        required("base", RATE, "between bursts"),
        required("peak", RATE, "during bursts"),
        required("every", SPAN, "from one start to the next"),
        required("for", SPAN, "how long a burst lasts, at most `every`"),
    ],
};

static BURSTY_KEY: Section = Section {
    name: "arrivals",
    doc: "Arrivals that are neither `poisson` nor `deterministic`.",
    keys: &[required("bursty", Kind::Section(&BURSTY), "Poisson arrivals, switched on and off")],
};

static BURSTY: Section = Section {
    name: "bursty",
    doc: "Spells with exponential lengths; the mean rate over time is the load.",
    keys: &[
        required("on", SPAN, "mean length of a busy spell"),
        required("off", SPAN, "mean length of a quiet spell"),
        optional(
            "idle",
            Kind::Share { zero: true },
            "0%",
            "rate while quiet, as a share of the rate while busy",
        ),
    ],
};

/// The load of each class.
pub(crate) fn lower(reader: &mut Reader<'_>, fields: &Fields<'_>, base: &Path) -> Vec<Load> {
    let classes = reader.names.classes.to_vec();
    let mut loads = vec![Load::Constant(0.0); classes.len()];
    let Some(entry) = fields.entry("load") else {
        return loads;
    };
    let shape = |e: &Entry| SHAPES.key(&e.key.text).is_some();
    let entries = entry.value.entries().filter(|_| entry.value.is_map());
    match entries {
        Some(entries) if !entries.iter().any(shape) => {
            by_class(reader, entry, entries, base, &mut loads);
        }
        _ if classes.len() > 1 => reader.error(
            Draft::new(entry.value.span, "there are several classes, and this is one load")
                .found(entry.value.found())
                .expected(format!("a load for each of {}", words::commas(&classes))),
        ),
        _ => {
            if let Some(load) = one(reader, &entry.value, entry.key.span, base) {
                loads[0] = load;
            }
        }
    }
    let zero = loads.iter().all(|l| l.peak() <= 0.0);
    if zero && !reader.sink.has_errors() {
        reader.error(
            Draft::new(entry.key.span, "the load is zero")
                .found(entry.value.found())
                .expected("a class with a load above zero"),
        );
    }
    loads
}

fn by_class(
    reader: &mut Reader<'_>,
    entry: &Entry,
    entries: &[Entry],
    base: &Path,
    loads: &mut [Load],
) {
    let classes = reader.names.classes.to_vec();
    let mut meant = Vec::new();
    for e in entries {
        let Some(class) = classes.iter().position(|c| *c == e.key.text) else {
            let near = reader.near(
                &e.key.text,
                classes.iter().map(String::as_str).chain(SHAPES.keys.iter().map(|k| k.name)),
            );
            reader.error(
                Draft::new(
                    e.key.span,
                    format!("there is no class {}", crate::node::quoted(&e.key.text)),
                )
                .expected(words::list(&classes))
                .suggest(near.clone()),
            );
            meant.extend(near);
            continue;
        };
        if let Some(load) = one(reader, &e.value, e.key.span, base) {
            loads[class] = load;
        }
    }
    for class in
        classes.iter().filter(|c| !entries.iter().any(|e| e.key.text == **c) && !meant.contains(c))
    {
        reader.error(
            Draft::new(entry.key.span, format!("the class `{class}` has no load"))
                .found(format!("no `{class}`"))
                .expected(format!("`{class}:` {}; `0/s` for none", RATE.expected())),
        );
    }
}

fn one(reader: &mut Reader<'_>, node: &Node, at: Span, base: &Path) -> Option<Load> {
    if !node.is_map() {
        return match reader.scalar(node, &SHAPE)? {
            Val::Number(rate) => Some(Load::Constant(rate)),
            _ => None,
        };
    }
    let (variant, fields) = reader.keyed(node, &SHAPE_KINDS, at)?;
    let entry = fields.entry(variant.name)?;
    match variant.name {
        "steps" => steps(reader, &entry.value),
        "ramp" => ramp(reader, entry),
        "burst" => burst(reader, entry),
        _ => trace::read(reader, &entry.value, base),
    }
}

fn steps(reader: &mut Reader<'_>, node: &Node) -> Option<Load> {
    let Value::Seq(items) = &node.value else {
        reader.error(
            Draft::new(node.span, "this must be a list")
                .found(node.found())
                .expected("a list of steps such as `{at: 0s, rate: 10/s}`"),
        );
        return None;
    };
    if items.is_empty() {
        reader.error(Draft::new(node.span, "this list is empty").expected("at least one step"));
        return None;
    }
    let mut points: Vec<(Nanos, f64)> = Vec::with_capacity(items.len() * 2);
    let mut complete = true;
    let mut previous: Option<Span> = None;
    for item in items {
        let step = reader.section(item, &STEP, item.span);
        let step = step.and_then(|f| {
            let (at, rate) = (reader.duration(&f, "at"), reader.number(&f, "rate"));
            Some((f.span("at"), at?, rate?))
        });
        let Some((span, at, rate)) = step else {
            complete = false;
            continue;
        };
        if let (Some((last, before)), Some(earlier)) = (points.last().copied(), previous) {
            if at <= last {
                complete = false;
                reader.error(
                    Draft::new(span, "steps must be in the order of their times")
                        .expected(format!("a time after {last}"))
                        .also(earlier, "the step before"),
                );
                continue;
            }
            points.push((at, before));
        }
        points.push((at, rate));
        previous = Some(span);
    }
    complete.then_some(Load::Profile(points))
}

fn ramp(reader: &mut Reader<'_>, entry: &Entry) -> Option<Load> {
    let f = reader.section(&entry.value, &RAMP, entry.key.span)?;
    let (from, to) = (reader.number(&f, "from"), reader.number(&f, "to"));
    let over = reader.duration(&f, "over");
    let start = reader.duration(&f, "start").unwrap_or(Nanos::ZERO);
    Some(Load::Profile(vec![(start, from?), (start + over?, to?)]))
}

fn burst(reader: &mut Reader<'_>, entry: &Entry) -> Option<Load> {
    let f = reader.section(&entry.value, &BURST, entry.key.span)?;
    let (base, peak) = (reader.number(&f, "base"), reader.number(&f, "peak"));
    let (every, length) = (reader.duration(&f, "every"), reader.duration(&f, "for"));
    let (every, length) = (every?, length?);
    if length > every {
        reader.error(
            Draft::new(f.span("for"), "a burst lasts longer than its period")
                .found(format!("{length} in every {every}"))
                .expected(format!("at most {every}")),
        );
        return None;
    }
    Some(Load::Burst { base: base?, peak: peak?, every, length })
}

pub(crate) fn arrivals(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Arrivals {
    let read = |reader: &mut Reader<'_>| {
        let entry = fields.entry("arrivals")?;
        if !entry.value.is_map() {
            return match reader.value(fields, "arrivals")? {
                Val::Word("deterministic") => Some(Arrivals::Deterministic),
                _ => None,
            };
        }
        let f = reader.section(&entry.value, &BURSTY_KEY, entry.key.span)?;
        let bursty = f.entry("bursty")?;
        let f = reader.section(&bursty.value, &BURSTY, bursty.key.span)?;
        let (on, off) = (reader.duration(&f, "on"), reader.duration(&f, "off"));
        let idle = reader.number(&f, "idle").unwrap_or(0.0);
        Some(Arrivals::Bursty { on: on?, off: off?, idle })
    };
    read(reader).unwrap_or(Arrivals::Poisson)
}

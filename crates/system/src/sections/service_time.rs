//! `service_time:`: a duration, samples, or a distribution.

use damper_control::Nanos;

use crate::model::Dist;
use crate::node::{Node, Value};
use crate::problem::Draft;
use crate::read::{Reader, Val};
use crate::schema::{Kind, Section, Tagged, Variant, otherwise, required};
use crate::source::Span;

const TIME: Kind = Kind::Duration { zero: true };
const WEIGHT: Kind = Kind::Number { min: 0.0, max: 1e12 };
const VALUES: Kind = Kind::List(&Kind::Either(&[TIME, Kind::Pair(&TIME, &WEIGHT)]));
const MAX_VALUES: usize = 100_000;

/// `5ms`, `[5ms, 7ms]`, or a distribution.
pub(crate) const KIND: Kind = Kind::Either(&[TIME, VALUES, Kind::Tagged(&DISTRIBUTIONS)]);

static DISTRIBUTION: Section = Section {
    name: "distribution",
    doc: "A distribution of service times. `5ms` alone is deterministic, a list alone empirical.",
    keys: &[
        required(
            "dist",
            Kind::Word(&[
                "deterministic",
                "exponential",
                "erlang",
                "lognormal",
                "hyperexponential",
                "pareto",
                "empirical",
            ]),
            "which",
        ),
        otherwise("mean", TIME, "needed by all but `empirical`", "the mean"),
        otherwise(
            "stages",
            Kind::Count { min: 1, max: 10_000 },
            "needed by `erlang`",
            "exponential stages of an Erlang distribution",
        ),
        otherwise(
            "cv",
            Kind::Number { min: 0.0, max: 1_000.0 },
            "needed by `lognormal` and `hyperexponential`",
            "standard deviation over mean; at least 1 for `hyperexponential` (balanced means)",
        ),
        otherwise(
            "alpha",
            Kind::Number { min: 1.0, max: 1_000.0 },
            "needed by `pareto`",
            "tail index of a Pareto distribution, above 1",
        ),
        otherwise(
            "values",
            VALUES,
            "needed by `empirical`",
            "durations, or pairs of a duration and its weight",
        ),
    ],
};

pub(crate) static DISTRIBUTIONS: Tagged = Tagged {
    section: &DISTRIBUTION,
    partial: false,
    variants: &[
        variant("deterministic", &["mean"]),
        variant("exponential", &["mean"]),
        variant("erlang", &["mean", "stages"]),
        variant("lognormal", &["mean", "cv"]),
        variant("hyperexponential", &["mean", "cv"]),
        variant("pareto", &["mean", "alpha"]),
        variant("empirical", &["values"]),
    ],
};

const fn variant(name: &'static str, needs: &'static [&'static str]) -> Variant {
    Variant { name, needs, may: &[] }
}

pub(crate) fn lower(reader: &mut Reader<'_>, node: &Node, at: Span) -> Option<Dist> {
    match &node.value {
        Value::Seq(items) => values(reader, node, items),
        Value::Map(_) => distribution(reader, node, at),
        _ => match reader.scalar(node, &KIND)? {
            Val::Duration(d) => Some(Dist::Deterministic(d)),
            _ => None,
        },
    }
}

fn distribution(reader: &mut Reader<'_>, node: &Node, at: Span) -> Option<Dist> {
    let (variant, f) = reader.tagged(node, &DISTRIBUTIONS, at)?;
    let mean = reader.duration(&f, "mean");
    Some(match variant.name {
        "deterministic" => Dist::Deterministic(mean?),
        "exponential" => Dist::Exponential(mean?),
        "erlang" => Dist::Erlang { stages: reader.count32(&f, "stages")?, mean: mean? },
        "lognormal" => Dist::Lognormal { cv: reader.number(&f, "cv")?, mean: mean? },
        "hyperexponential" => {
            let cv = reader.number(&f, "cv")?;
            if cv < 1.0 {
                reader.error(
                    Draft::new(
                        f.span("cv"),
                        "a hyperexponential distribution varies more than that",
                    )
                    .found(format!("`{cv}`"))
                    .expected("a number, at least 1; `erlang` varies less"),
                );
                return None;
            }
            Dist::Hyperexponential { cv, mean: mean? }
        }
        "pareto" => {
            let alpha = reader.number(&f, "alpha")?;
            if alpha <= 1.0 {
                reader.error(
                    Draft::new(f.span("alpha"), "a Pareto distribution with this tail has no mean")
                        .found(format!("`{alpha}`"))
                        .expected("a number above 1"),
                );
                return None;
            }
            Dist::Pareto { alpha, mean: mean? }
        }
        _ => {
            let node = f.node("values")?;
            let Value::Seq(items) = &node.value else {
                reader.error(
                    Draft::new(node.span, "this must be a list")
                        .found(node.found())
                        .expected(VALUES.expected()),
                );
                return None;
            };
            return values(reader, node, items);
        }
    })
}

fn values(reader: &mut Reader<'_>, node: &Node, items: &[Node]) -> Option<Dist> {
    if items.is_empty() || items.len() > MAX_VALUES {
        reader.error(
            Draft::new(node.span, format!("there must be 1 to {MAX_VALUES} values"))
                .found(format!("{} values", items.len()))
                .expected("durations, or pairs of a duration and its weight"),
        );
        return None;
    }
    let read: Vec<Option<(Nanos, f64)>> = items.iter().map(|i| value(reader, i)).collect();
    let values = read.into_iter().collect::<Option<Vec<_>>>()?;
    if values.iter().all(|(_, weight)| *weight == 0.0) {
        reader.error(Draft::new(node.span, "all weights are zero").expected("a weight above zero"));
        return None;
    }
    Some(Dist::Empirical(values))
}

fn value(reader: &mut Reader<'_>, item: &Node) -> Option<(Nanos, f64)> {
    let (time, weight) = match &item.value {
        Value::Seq(pair) => match pair.as_slice() {
            [time, weight] => (time, Some(weight)),
            _ => {
                reader.error(
                    Draft::new(item.span, "this must be a pair")
                        .found(format!("a list of {}", pair.len()))
                        .expected("a duration and its weight such as `[5ms, 3]`"),
                );
                return None;
            }
        },
        _ => (item, None),
    };
    let time = match reader.scalar(time, &TIME) {
        Some(Val::Duration(d)) => Some(d),
        _ => None,
    };
    let weight = match weight.map(|w| reader.scalar(w, &WEIGHT)) {
        None => Some(1.0),
        Some(Some(Val::Number(w))) => Some(w),
        Some(_) => None,
    };
    time.zip(weight)
}

//! `experiment:`: how a run is watched.

use damper_control::Nanos;

use crate::model::{Experiment, Load, Trigger};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, optional, otherwise};
use crate::units::LONGEST;

const TIME: Kind = Kind::Duration { zero: true };
const SPAN: Kind = Kind::Duration { zero: false };

pub(crate) static EXPERIMENT: Section = Section {
    name: "experiment",
    doc: "How a run is watched. Its parts together may last 10_000_000s.",
    keys: &[
        optional("warmup", TIME, "30s", "not measured"),
        otherwise(
            "trigger_at",
            TIME,
            "30s after `warmup`",
            "when the trigger starts, from the start of the run; at or after `warmup`",
        ),
        otherwise(
            "trigger",
            Kind::Either(&[Kind::Name(Names::Trigger), Kind::Word(&["none"])]),
            "the first trigger",
            "which trigger; `none`: nothing goes wrong",
        ),
        optional("watch", SPAN, "120s", "how long it is watched after the trigger has ended"),
        optional(
            "recovered_at",
            Kind::Share { zero: false },
            "95%",
            "recovered: goodput is at least this share of the offered load",
        ),
        optional("hold", TIME, "5s", "recovered: for this long, at most `watch`"),
        otherwise(
            "good_within",
            SPAN,
            "no bound beside the timeouts",
            "a reply later than this is not good",
        ),
        optional("seed", Kind::Count { min: 0, max: u64::MAX }, "1", "seed of everything random"),
        optional("replications", Kind::Count { min: 1, max: 10_000 }, "5", "independent runs"),
        optional(
            "vary",
            Kind::Name(Names::ClassOrAll),
            "all",
            "whose load `headroom` varies; `all`: in proportion",
        ),
        optional("interval", SPAN, "1s", "width of a point of the time series"),
    ],
};

pub(crate) fn lower(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    triggers: &[Trigger],
    load: &[Load],
) -> Experiment {
    let warmup = Nanos::from_secs(30);
    let mut e = Experiment {
        warmup,
        trigger_at: warmup + Nanos::from_secs(30),
        trigger: (!triggers.is_empty()).then_some(0),
        watch: Nanos::from_secs(120),
        recovered_at: 0.95,
        hold: Nanos::from_secs(5),
        good_within: None,
        seed: 1,
        replications: 5,
        vary: None,
        interval: Nanos::from_secs(1),
    };
    let Some(entry) = fields.entry("experiment") else {
        return e;
    };
    let Some(f) = reader.section(&entry.value, &EXPERIMENT, entry.key.span) else {
        return e;
    };
    e.warmup = reader.duration(&f, "warmup").unwrap_or(e.warmup);
    e.trigger_at = match f.has("trigger_at") {
        true => reader.duration(&f, "trigger_at").unwrap_or(e.warmup),
        false => e.warmup + Nanos::from_secs(30),
    };
    match reader.value(&f, "trigger") {
        Some(Val::Id(i)) => e.trigger = Some(i),
        Some(_) => e.trigger = None,
        None => {}
    }
    e.watch = reader.duration(&f, "watch").unwrap_or(e.watch);
    e.recovered_at = reader.number(&f, "recovered_at").unwrap_or(e.recovered_at);
    e.hold = match f.has("hold") {
        true => reader.duration(&f, "hold").unwrap_or(Nanos::ZERO),
        false => e.hold.min(e.watch),
    };
    e.good_within = reader.duration(&f, "good_within");
    e.seed = reader.count(&f, "seed").unwrap_or(e.seed);
    e.replications = reader.count32(&f, "replications").unwrap_or(e.replications);
    if let Some(Val::Id(class)) = reader.value(&f, "vary") {
        e.vary = Some(class as u8);
    }
    e.interval = match f.has("interval") {
        true => reader.duration(&f, "interval").unwrap_or(Nanos(1)),
        false => e.interval.min(e.watch),
    };
    cross_check(reader, &f, &e, triggers, load);
    e
}

fn cross_check(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    e: &Experiment,
    triggers: &[Trigger],
    load: &[Load],
) {
    let mut wrong = |key: &str, message: &str, found: String, expected: String| {
        let draft = Draft::new(f.span(key), message);
        reader.error(draft.found(found).expected(expected));
    };
    if e.trigger_at < e.warmup {
        wrong(
            "trigger_at",
            "the trigger starts before the warm-up has ended",
            e.trigger_at.to_string(),
            format!("at least {}", e.warmup),
        );
    }
    for (key, value) in [("hold", e.hold), ("interval", e.interval)] {
        if value > e.watch {
            wrong(
                key,
                "this is longer than the run is watched",
                value.to_string(),
                format!("at most {}", e.watch),
            );
        }
    }
    let length = e.trigger.and_then(|t| triggers.get(t)).map_or(Nanos::ZERO, Trigger::length);
    let total = e.trigger_at + length + e.watch;
    if total > LONGEST {
        wrong(
            "watch",
            "the experiment is too long",
            total.to_string(),
            "at most 10_000_000s up to the trigger, for it, and after it".into(),
        );
    }
    let zero = |class: u8| load.get(usize::from(class)).is_some_and(|l| l.peak() <= 0.0);
    if e.vary.is_some_and(zero) {
        wrong(
            "vary",
            "the load of this class is zero, and no factor changes that",
            "0/s".into(),
            "a class with a load above zero, or `all`".into(),
        );
    }
}

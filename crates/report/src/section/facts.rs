//! The few numbers everyone asks for first, in a row.

use crate::format;
use crate::html::El;
use crate::result::{Headroom, Simulate};

/// Those of a headroom report.
pub(crate) fn of_headroom(result: &Headroom) -> El {
    row(&headroom_facts(result))
}

/// Those of a report of one run.
pub(crate) fn of_simulate(result: &Simulate) -> El {
    let run = &result.run;
    let (offered, good) = run
        .classes
        .values()
        .fold((0_u64, 0_u64), |(o, g), c| (o.saturating_add(c.offered), g.saturating_add(c.good)));
    let figures = [
        Fact::new("load", format::rate(run.load_rps), "all classes"),
        Fact::new("good", share(good, offered), "of the offered requests"),
        Fact::new("recovery", recovery(result), recovery_note(result)),
        Fact::new(
            "calls per request",
            format::number(run.calls_per_request),
            format!("{} when healthy", format::number(run.floor_calls_per_request)),
        ),
    ];
    row(&figures)
}

fn headroom_facts(result: &Headroom) -> Vec<Fact> {
    let estimate = |value: Option<f64>, interval, none: &str| {
        let note = format::interval(interval, format::number)
            .map_or_else(String::new, |i| format!("{i} (95\u{a0}%)"));
        match value.and_then(format::measured) {
            Some(value) => (format::rate(value), note),
            None => (format::NONE.to_owned(), none.to_owned()),
        }
    };
    let hidden = estimate(result.hidden_rps, result.hidden_ci95, "recovered from every load");
    let advertised = estimate(result.advertised_rps, result.advertised_ci95, "not reached");
    let exposure = result.exposure.and_then(format::measured);
    let mut facts = vec![
        Fact::new("hidden capacity", hidden.0, hidden.1),
        Fact::new("advertised capacity", advertised.0, advertised.1),
        Fact::new(
            "load",
            format::rate(result.load_rps),
            match exposure {
                Some(e) if e >= 1.0 => format!("{} hidden capacity", format::times(e + 1.0)),
                Some(e) if e > 0.0 => format!("{} above hidden", format::percent(e)),
                Some(e) => format!("{} below hidden", format::percent(-e)),
                None => String::new(),
            },
        ),
        Fact::new("amplification", format::times(result.amplification), "while the loop runs"),
    ];
    if let Some(held) = &result.sustaining_loop {
        facts.push(Fact::new("work wasted", format::percent(held.wasted), "callers had gone"));
    }
    facts
}

/// A number with its name and a remark.
pub(crate) struct Fact {
    name: String,
    value: String,
    note: String,
}

impl Fact {
    pub(crate) fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        note: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), value: value.into(), note: note.into() }
    }
}

/// Facts in a row of tiles.
pub(crate) fn row(facts: &[Fact]) -> El {
    El::new("dl").class("facts").children(facts.iter().map(|fact| {
        El::new("div")
            .child(El::new("dt").text(fact.name.clone()))
            .child(El::new("dd").class("value").text(fact.value.clone()))
            .child(El::new("dd").class("note").text(fact.note.clone()))
    }))
}

fn recovery(result: &Simulate) -> String {
    match result.run.recovery_s.and_then(format::measured) {
        Some(s) => format::seconds(s),
        None if result.trigger.is_empty() => format::NONE.to_owned(),
        None => "none".to_owned(),
    }
}

fn recovery_note(result: &Simulate) -> String {
    if result.trigger.is_empty() {
        return "no trigger".to_owned();
    }
    format!("{} of {} replications recovered", result.run.recovered, result.run.replications)
}

/// A share of counts.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return format::NONE.to_owned();
    }
    format::percent(part as f64 / whole as f64)
}

//! A drill as Markdown: a page for a runbook.

use std::fmt::Write as _;

use super::{attempts, sentence, value};
use crate::format;
use crate::result::drill::Drill;

/// What came of it, what to expect next time, and how it was done.
#[must_use]
pub fn drill_markdown(result: &Drill) -> String {
    let mut out = String::new();
    let mut put = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    put(format!("# Drill: {}\n", cell(&result.origin.system)));
    put(format!("{}\n", cell(&sentence(result))));
    let seconds = |v: Option<f64>, none: &str| {
        v.and_then(format::measured).map_or_else(|| none.to_owned(), format::seconds)
    };
    put("| | measured | predicted |\n|---|---|---|".to_owned());
    let p = result.predicted.clone().unwrap_or_default();
    if result.trigger_s.is_some() {
        let recovery = match p.recovery_s {
            Some(s) => format::seconds(s),
            None => cell(&p.state),
        };
        put(format!("| recovery | {} | {recovery} |", seconds(result.recovery_s, "none")));
        put(format!("| noticed after | {} | |", seconds(result.detection_s, "not noticed")));
        let lost =
            format!("{} ({})", format::count(result.lost), format::percent(result.lost_share));
        put(format!("| goodput lost | {lost} | |"));
    }
    if let Some(factor) = result.amplification {
        put(format!("| amplification | {} | |", format::times(factor)));
    }
    if let Some(what) = attempts(result) {
        put(format!("| attempts of the callers | {what} | |"));
    }
    if let Some(hidden) = &result.hidden {
        let ends = match (hidden.low, hidden.high) {
            (Some(low), Some(high)) => {
                format!("{} to {}", value(hidden, low), value(hidden, high))
            }
            (Some(low), None) => format!("at least {}", value(hidden, low)),
            (None, _) => "none found".to_owned(),
        };
        let predicted =
            p.hidden_rps.filter(|_| hidden.of == "load").map_or(String::new(), format::rate);
        put(format!("| hidden capacity | {ends} | {predicted} |"));
    }
    put(format!("| load | {} | |", format::rate(result.load_rps)));
    if !result.expectations.is_empty() {
        put("\n## Expectations\n\n| | expected | measured | predicted |\n|---|---|---|---|"
            .to_owned());
        for e in &result.expectations {
            let word = match e.met {
                Some(true) => "met",
                Some(false) => "**not met**",
                None => "not known",
            };
            let predicted = e.predicted.clone().unwrap_or_default();
            let (text, measured) = (cell(&e.text), cell(&e.measured));
            put(format!("| {word} | {text} | {measured} | {} |", cell(&predicted)));
        }
    }
    if !result.levers.is_empty() {
        put("\n## The lever\n\n| lever | at | good before | good after | healthy after |\n|---|---|---|---|---|".to_owned());
        let share = |v: Option<f64>| v.map_or_else(|| format::NONE.to_owned(), format::percent);
        for l in &result.levers {
            put(format!(
                "| {}: {} | {} | {} | {} | {} |",
                cell(&l.lever),
                cell(&l.action),
                format::seconds(l.t_s),
                share(l.before),
                share(l.after),
                seconds(l.healthy_after_s, "not")
            ));
        }
    }
    if !result.phases.is_empty() {
        put("\n## Phases\n\n| phase | from | to | due | good |\n|---|---|---|---|---|".to_owned());
        for phase in &result.phases {
            put(format!(
                "| {} | {} | {} | {} | {} |",
                cell(&phase.name),
                format::seconds(phase.from_s),
                format::seconds(phase.to_s),
                format::count(phase.offered),
                crate::section::facts::share(phase.good, phase.offered)
            ));
        }
    }
    if let Some(hidden) = result.hidden.as_ref().filter(|h| !h.probes.is_empty()) {
        put("\n## Probes\n\n| tried | what came | healthy again after |\n|---|---|---|".to_owned());
        for probe in &hidden.probes {
            let (tried, what) = (value(hidden, probe.value), cell(&probe.what));
            put(format!("| {tried} | {what} | {} |", format::seconds(probe.drain_s)));
        }
    }
    for (heading, lines) in
        [("Since the drill before", &result.changes), ("Notes", &result.origin.notes)]
    {
        if !lines.is_empty() {
            put(format!("\n## {heading}\n"));
            lines.iter().for_each(|line| put(format!("- {}", cell(line))));
        }
    }
    if !result.events.is_empty() {
        put("\n## What was done and seen\n".to_owned());
        for event in &result.events {
            put(format!("- {}: {}", format::seconds(event.t_s), cell(&event.what)));
        }
    }
    let owners: Vec<String> =
        result.owners.iter().map(|(host, owner)| format!("{host} ({owner})")).collect();
    let slower = if result.slower > 1.0 {
        format!(", {} times as slow", result.slower)
    } else {
        String::new()
    };
    put(format!(
        "\n---\n\n{} against {}{}, {}; seed {}{slower}; damper {}",
        cell(&result.origin.file),
        cell(&result.target),
        if owners.is_empty() {
            String::new()
        } else {
            format!(", owned by {}", cell(&owners.join(", ")))
        },
        cell(&result.started),
        result.origin.seed,
        cell(&result.origin.version)
    ));
    out
}

/// Text that can be part of a table and means nothing to Markdown or HTML.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

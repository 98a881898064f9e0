//! The page of `damper drill`, and the same as Markdown for a runbook.

mod markdown;

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::drill::{Drill, LiveHidden};
use crate::section::facts::{self, Fact};
use crate::section::{cell, name_cell, provenance, section, table, verdict};
use crate::svg::line::{Across, Line, LineChart};

pub use markdown::drill_markdown;

/// One self-contained HTML page that shows what came of a drill. Accepts any value, as
/// [`headroom_html`](crate::headroom_html) does.
pub fn drill_html(result: &Drill) -> String {
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(result.origin.partial));
    parts.push(head(result));
    if !result.expectations.is_empty() {
        parts.push(expectations(result));
    }
    if !result.series.t_s.is_empty() {
        parts.push(timeline(result));
    }
    if !result.levers.is_empty() {
        parts.push(levers(result));
    }
    if let Some(hidden) = &result.hidden {
        parts.push(search(hidden, result));
    }
    if !result.phases.is_empty() {
        parts.push(phases(result));
    }
    if !result.classes.is_empty() {
        parts.push(classes(result));
    }
    parts.extend(list("changes", "Since the drill before", &result.changes));
    let events: Vec<String> =
        result.events.iter().map(|e| format!("{}: {}", format::seconds(e.t_s), e.what)).collect();
    parts.extend(list("events", "What was done and seen", &events));
    let owners: Vec<String> =
        result.owners.iter().map(|(host, owner)| format!("{host} ({owner})")).collect();
    let how = [
        ("target", result.target.clone()),
        ("started", result.started.clone()),
        ("owners", if owners.is_empty() { format::NONE.to_owned() } else { owners.join(", ") }),
        ("as slow", format::times(result.slower)),
        ("sent late, p99", format::seconds(result.late_p99_ms / 1e3)),
    ];
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Drill", &result.origin.system), parts)
}

/// What came of it, in a sentence.
pub(super) fn sentence(result: &Drill) -> String {
    let load = format::rate(result.load_rps);
    let mut text = match (result.ended.as_str(), result.recovered, result.recovery_s) {
        ("done", Some(true), Some(s)) => {
            format!("At {load} it recovered {} after the trigger had gone.", format::seconds(s))
        }
        ("done", Some(false), _) => format!("At {load} it did not recover."),
        ("done", ..) => format!("At {load} the drill came to its end."),
        (other, ..) => format!("The drill was {other}: {}.", result.ended_why),
    };
    if let Some(hidden) = &result.hidden {
        text = format!("{}. {text}", interval(hidden));
    }
    text
}

/// `Hidden capacity is between 140/s and 148/s`.
pub(super) fn interval(hidden: &LiveHidden) -> String {
    let value = |v: f64| value(hidden, v);
    let what = if hidden.of == "load" { "Hidden capacity" } else { "The longest trigger" };
    match (hidden.low, hidden.high) {
        (Some(low), Some(high)) => format!("{what} is between {} and {}", value(low), value(high)),
        (Some(low), None) => format!("{what} is at least {}", value(low)),
        (None, _) => format!("{what}: none was found from which it recovers"),
    }
}

pub(super) fn value(hidden: &LiveHidden, v: f64) -> String {
    if hidden.of == "load" { format::rate(v) } else { format::seconds(v) }
}

/// How many attempts the callers made, and what the bounds held back of them; `None`: one for each
/// request, which says nothing.
pub(super) fn attempts(result: &Drill) -> Option<String> {
    let (made, withheld) = (format::count(result.attempts), result.withheld);
    match withheld {
        0 if result.attempts <= result.offered => None,
        0 => Some(made),
        _ => Some(format!("{made}, and the bounds held back {} retries", format::count(withheld))),
    }
}

fn head(result: &Drill) -> El {
    let header = El::new("header")
        .child(verdict::kicker("Drill", &result.origin.system))
        .child(El::new("p").class("verdict").text(sentence(result)));
    let seconds = |value: Option<f64>, none: &str| {
        value.and_then(format::measured).map_or_else(|| none.to_owned(), format::seconds)
    };
    let mut figures = vec![Fact::new("load", format::rate(result.load_rps), "at 100 %")];
    if result.trigger_s.is_some() {
        let predicted = match result.predicted.as_ref() {
            Some(p) => match p.recovery_s {
                Some(s) => format!("predicted {}", format::seconds(s)),
                None => format!("predicted {}", p.state),
            },
            None => String::new(),
        };
        figures.push(Fact::new("recovery", seconds(result.recovery_s, "none"), predicted));
        figures.push(Fact::new("noticed", seconds(result.detection_s, "not"), "after the start"));
        figures.push(Fact::new(
            "goodput lost",
            format::count(result.lost),
            format!("{} of what was due", format::percent(result.lost_share)),
        ));
    }
    if let Some(factor) = result.amplification {
        let note = format!("counted by the {}", result.amplification_by);
        figures.push(Fact::new("amplification", format::times(factor), note));
    }
    if attempts(result).is_some() {
        let note = match result.withheld {
            0 => format!("for {} requests", format::count(result.offered)),
            some => format!("the bounds held back {} retries", format::count(some)),
        };
        figures.push(Fact::new("attempts", format::count(result.attempts), note));
    }
    if let Some(hidden) = &result.hidden {
        let note = match result.predicted.as_ref().and_then(|p| p.hidden_rps) {
            Some(rps) if hidden.of == "load" => format!("simulated {}", format::rate(rps)),
            _ => String::new(),
        };
        let found = hidden.estimate.map_or_else(|| format::NONE.to_owned(), |v| value(hidden, v));
        figures.push(Fact::new("hidden capacity", found, note));
    }
    header.child(facts::row(&figures))
}

fn expectations(result: &Drill) -> El {
    let rows = result.expectations.iter().map(|e| {
        let word = match e.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "not known",
        };
        let predicted = e.predicted.clone().unwrap_or_default();
        vec![name_cell(&e.text), cell(word), cell(e.measured.clone()), cell(predicted)]
    });
    let columns = ["expected", "", "measured", "predicted"];
    section("expectations", "What was expected").child(table("expectations", &columns, rows))
}

fn timeline(result: &Drill) -> El {
    let s = &result.series;
    let points = s.t_s.len();
    let line = |name: &str, class, values: &[f64], filled| Line {
        name: name.to_owned(),
        class,
        values: (0..points).map(|i| values.get(i).copied().and_then(format::measured)).collect(),
        print: format::rate,
        filled,
    };
    let chart = |id, title: &str, aside: &str, height, lines, print_axis| LineChart {
        id,
        title: title.to_owned(),
        aside: aside.to_owned(),
        description: format!("{title} over the time of the drill."),
        height_px: height,
        t_s: s.t_s.clone(),
        interval_s: s.interval_s,
        across: Across::time(),
        lines,
        seen: Vec::new(),
        trigger_s: result.trigger_s,
        levels: Vec::new(),
        may_be_log: false,
        least_high: 0.0,
        print_axis,
    };
    let lines = vec![
        line("goodput", "goodput", &s.goodput_rps, true),
        line("throughput", "throughput", &s.throughput_rps, false),
        line("refused", "attempts", &s.rejected_rps, false),
        line("offered", "offered", &s.offered_rps, false),
    ];
    let delay = Line {
        name: "mean time of good replies".to_owned(),
        class: "goodput",
        values: (0..points)
            .map(|i| s.good_ms.get(i).copied().flatten().map(|ms| ms / 1e3))
            .collect(),
        print: format::seconds,
        filled: false,
    };
    let part = section("timeline", "What happened")
        .child(chart("rates", "Requests", "per second", 230.0, lines, format::number).draw());
    let axis = format::seconds_on_axis;
    part.child(
        chart("delay", "Time of good replies", "from the intended start", 120.0, vec![delay], axis)
            .draw(),
    )
}

fn levers(result: &Drill) -> El {
    let share = |v: Option<f64>| v.map_or_else(|| format::NONE.to_owned(), format::percent);
    let rows = result.levers.iter().map(|l| {
        let healthy = l.healthy_after_s.map_or_else(|| "not".to_owned(), format::seconds);
        vec![
            name_cell(&format!("{}: {}", l.lever, l.action)),
            cell(format::seconds(l.t_s)),
            cell(share(l.before)),
            cell(share(l.after)),
            cell(healthy),
        ]
    });
    let columns = ["lever", "at", "good before", "good after", "healthy after"];
    section("levers", "How it answered to the lever").child(table("levers", &columns, rows))
}

fn search(hidden: &LiveHidden, result: &Drill) -> El {
    let mut lead = format!(
        "{}; healed {} times at the lower end, stayed down {} times at the upper one.",
        interval(hidden),
        hidden.low_healed,
        hidden.high_failed
    );
    if let Some(p) = result.predicted.as_ref().filter(|_| hidden.of == "load") {
        for (name, rps) in [("simulated", p.hidden_rps), ("by the model", p.hidden_model_rps)] {
            if let Some(rps) = rps {
                lead.push_str(&format!(" {name}: {}.", format::rate(rps)));
            }
        }
    }
    if let Some(why) = &hidden.ended_early {
        lead.push_str(&format!(" It ended before it was done: {why}."));
    }
    let rows = hidden.probes.iter().map(|p| {
        let (tried, what) = (value(hidden, p.value), p.what.clone());
        vec![name_cell(&tried), cell(what), cell(format::seconds(p.drain_s))]
    });
    section("hidden", "Hidden capacity of the running system")
        .child(El::new("p").class("lead").text(lead))
        .child(table("probes", &["tried", "what came", "healthy again after"], rows))
}

fn phases(result: &Drill) -> El {
    let rows = result.phases.iter().map(|p| {
        vec![
            name_cell(&p.name),
            cell(format::seconds(p.from_s)),
            cell(format::seconds(p.to_s)),
            cell(format::count(p.offered)),
            cell(facts::share(p.good, p.offered)),
        ]
    });
    let columns = ["phase", "from", "to", "due", "good"];
    section("phases", "Phases").child(table("phases", &columns, rows))
}

fn classes(result: &Drill) -> El {
    let rows = result.classes.iter().map(|c| {
        let counts = [
            c.offered,
            c.good,
            c.late,
            c.rejected,
            c.failed,
            c.timed_out,
            c.connection,
            c.not_sent,
        ];
        let mut row = vec![name_cell(&c.name)];
        row.extend(counts.map(|n| cell(format::count(n))));
        row.push(cell(format::seconds(c.p50_ms / 1e3)));
        row.push(cell(format::seconds(c.p99_ms / 1e3)));
        row
    });
    let columns = [
        "class",
        "due",
        "good",
        "late",
        "rejected",
        "failed",
        "timed out",
        "connection",
        "not sent",
        "p50",
        "p99",
    ];
    section("ends", "How requests ended").child(table("requests by class", &columns, rows))
}

fn list(id: &'static str, heading: &str, lines: &[String]) -> Option<El> {
    let items = lines.iter().map(|text| El::new("li").text(text.clone()));
    (!lines.is_empty()).then(|| section(id, heading).child(El::new("ul").children(items)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::drill::{DrillEvent, DrillPhase, DrillSeries, Expectation, Probe};

    fn sample() -> Drill {
        let hidden = LiveHidden {
            of: "load".into(),
            low: Some(140.0),
            low_healed: 3,
            high: Some(148.0),
            high_failed: 2,
            estimate: Some(143.9),
            probes: vec![Probe {
                value: 140.0,
                healed: true,
                what: "recovered".into(),
                ..Probe::default()
            }],
            ..LiveHidden::default()
        };
        let text = "goodput | <b>".to_owned();
        let series = DrillSeries {
            t_s: vec![0.5, 1.5, f64::NAN],
            interval_s: 1.0,
            goodput_rps: vec![10.0, f64::NAN],
            ..DrillSeries::default()
        };
        let mut drill = Drill {
            load_rps: 200.0,
            slower: 1.0,
            ended: "done".into(),
            recovered: Some(false),
            trigger_s: Some([1.0, 3.0]),
            lost: 4510,
            lost_share: 0.8,
            offered: 5600,
            attempts: 9000,
            withheld: 1234,
            phases: vec![DrillPhase { name: "calm".into(), ..DrillPhase::default() }],
            events: vec![DrillEvent { t_s: 1.0, what: "trigger blip starts".into() }],
            expectations: vec![Expectation { text, met: Some(false), ..Expectation::default() }],
            hidden: Some(hidden),
            series,
            ..Drill::default()
        };
        drill.origin.system = "a <script>*storm*".into();
        drill
    }

    #[test]
    fn a_page_of_anything() {
        let page = drill_html(&sample());
        assert!(page.starts_with("<!doctype html>") && !page.contains("<script>*"));
        assert!(page.contains("between 140/s and 148/s") && !page.contains("NaN"));
        assert!(page.contains("the bounds held back 1,234 retries"), "{page}");
        let mut free = sample();
        (free.withheld, free.attempts) = (0, free.offered);
        assert!(!drill_html(&free).contains("held back") && attempts(&free).is_none());
        assert!(drill_html(&Drill::default()).contains("Drill"));
    }

    #[test]
    fn a_runbook() {
        insta::assert_snapshot!(drill_markdown(&sample()));
        assert!(drill_markdown(&Drill::default()).starts_with("# Drill"));
    }
}

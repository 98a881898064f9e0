//! `damper drill` for people.

use damper_report::result::drill::{Drill, LiveHidden};

use super::table::table;
use super::{BOLD, DIM, colour, line, paint, percent, rate};

/// Prints what came of a drill.
pub(crate) fn drill(r: &Drill) {
    let state = match (r.ended.as_str(), r.recovered) {
        ("done", Some(true)) => paint(colour("stable"), "RECOVERED"),
        ("done", Some(false)) => paint(colour("overloaded"), "DID NOT RECOVER"),
        ("done", None) => paint(BOLD, "DONE"),
        (other, _) => paint(colour("vulnerable"), &other.to_uppercase()),
    };
    line(&format!(
        "{}: {state} at {}, {}",
        paint(BOLD, &r.origin.system),
        rate(r.load_rps),
        r.target
    ));
    if !r.ended_why.is_empty() {
        line(&format!("  {}", r.ended_why));
    }
    if !r.phases.is_empty() {
        phases(r);
        facts(r);
    }
    if !r.levers.is_empty() {
        levers(r);
    }
    if let Some(hidden) = &r.hidden {
        line("");
        self::hidden(hidden, r);
    }
    if !r.expectations.is_empty() {
        line("");
        for e in &r.expectations {
            let word = match e.met {
                Some(true) => paint(colour("stable"), "met    "),
                Some(false) => paint(colour("overloaded"), "NOT MET"),
                None => paint(colour("vulnerable"), "unknown"),
            };
            let predicted =
                e.predicted.as_ref().map_or(String::new(), |p| format!(" (predicted: {p})"));
            line(&format!("  {word}  {}: {}{predicted}", e.text, e.measured));
        }
    }
    if !r.changes.is_empty() {
        line("");
        line(&paint(BOLD, "Since the drill before"));
        r.changes.iter().for_each(|change| line(&format!("  {change}")));
    }
    line("");
    let slower =
        if r.slower > 1.0 { format!(", {} times as slow", r.slower) } else { String::new() };
    let what = format!(
        "{}; seed {}{slower}, damper {}, {}",
        r.origin.file, r.origin.seed, r.origin.version, r.started
    );
    line(&paint(DIM, &what));
}

fn phases(r: &Drill) {
    line("");
    let rows: Vec<Vec<String>> = r
        .phases
        .iter()
        .map(|p| {
            let share = if p.offered == 0 {
                "–".to_owned()
            } else {
                percent(p.good as f64 / p.offered as f64)
            };
            let (from, to) = (format!("{:.1} s", p.from_s), format!("{:.1} s", p.to_s));
            vec![p.name.clone(), from, to, p.offered.to_string(), share]
        })
        .collect();
    table(&["phase", "from", "to", "due", "good"], &rows);
}

fn facts(r: &Drill) {
    line("");
    let seconds = |value: Option<f64>, none: &str| {
        value.map_or_else(|| none.to_owned(), |s| format!("{s:.1} s"))
    };
    let row = |name: &str, value: String, beside: String| {
        line(format!("  {name:<14} {value:<16} {beside}").trim_end());
    };
    if r.trigger_s.is_some() {
        row("noticed after", seconds(r.detection_s, "not noticed"), String::new());
        let predicted = r.predicted.as_ref().map_or(String::new(), |p| match p.recovery_s {
            Some(s) => format!("predicted without a lever: {s:.1} s"),
            None => format!("predicted without a lever: {}", p.state),
        });
        row("recovery", seconds(r.recovery_s, "none"), predicted);
        let lost = format!("{} ({})", r.lost, percent(r.lost_share));
        row("goodput lost", lost, "requests, from the trigger to the recovery or the end".into());
    }
    if let Some(factor) = r.amplification {
        let by = "attempts per request meanwhile over those before".to_owned();
        row("amplification", format!("{factor:.2}x"), by);
    }
    if r.attempts > r.offered || r.withheld > 0 {
        let held = match r.withheld {
            0 => "of the callers, first ones and retries".to_owned(),
            n => format!("of the callers; the bounds held back {n} retries: it was spared these"),
        };
        row("attempts", r.attempts.to_string(), held);
    }
    row(
        "sent late",
        format!("{:.1} ms", r.late_p99_ms),
        "p99: the delay of the drill itself".into(),
    );
}

fn levers(r: &Drill) {
    line("");
    let share = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), percent);
    let rows: Vec<Vec<String>> = r
        .levers
        .iter()
        .map(|l| {
            let healthy =
                l.healthy_after_s.map_or_else(|| "not".to_owned(), |s| format!("after {s:.1} s"));
            let (lever, at) = (format!("{}: {}", l.lever, l.action), format!("{:.1} s", l.t_s));
            vec![lever, at, share(l.before), share(l.after), healthy]
        })
        .collect();
    table(&["lever", "at", "good before", "good after", "healthy"], &rows);
}

fn hidden(h: &LiveHidden, r: &Drill) {
    let value = |v: f64| if h.of == "load" { rate(v) } else { format!("{v:.2} s") };
    let what = if h.of == "load" { "hidden capacity" } else { "longest trigger" };
    match (h.low, h.high) {
        (Some(low), Some(high)) => line(&format!(
            "  {what}: between {} (healed {} of {}) and {} (stayed down {} of {})",
            value(low),
            h.low_healed,
            h.low_healed,
            value(high),
            h.high_failed,
            h.high_failed
        )),
        (Some(low), None) if h.open => line(&format!(
            "  {what}: at least {}, the highest that might be tried (healed {} times)",
            value(low),
            h.low_healed
        )),
        (Some(low), None) => line(&format!("  {what}: at least {}", value(low))),
        (None, _) => line(&format!("  {what}: none found from which it recovers")),
    }
    if let Some(p) = r.predicted.as_ref().filter(|_| h.of == "load") {
        let by = |name: &str, rps: Option<f64>| {
            if let (Some(rps), Some(found)) = (rps, h.estimate) {
                let off = percent(found / rps - 1.0);
                line(&format!("  {name}: {}; live {} is {off} off", rate(rps), rate(found)));
            }
        };
        by("simulated", p.hidden_rps);
        by("by the model", p.hidden_model_rps);
        if let Some(advertised) = p.advertised_rps {
            line(&format!("  advertised capacity, simulated: {}", rate(advertised)));
        }
    }
    line("");
    let rows: Vec<Vec<String>> = h
        .probes
        .iter()
        .map(|p| vec![value(p.value), p.what.clone(), format!("{:.1} s", p.drain_s)])
        .collect();
    if !rows.is_empty() {
        table(&["tried", "what came", "healthy again after"], &rows);
    }
}

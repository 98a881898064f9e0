//! What a plan would send where, without sending anything.

use std::fmt::Write as _;

use damper_system::model::System;
use damper_system::{Drill, Manner, MetricKind, Part, PhaseKind, Place, Size};

use crate::lever;
use crate::load::is_secret;
use crate::places::Places;
use crate::trigger::{own_length, script};
use crate::words;

/// Every request and command, in order, and what bounds them.
#[must_use]
pub fn dry_run(drill: &Drill, system: Option<&System>, places: &Places) -> String {
    let mut out = String::new();
    let rate = drill.total_load().or(system.map(System::total_load)).unwrap_or(0.0);
    let mut line = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    line(format!("drill:   {}", drill.name));
    if drill.parts.iter().any(|part| part.target == Place::Emulation) && places.emulation.is_none()
    {
        line("target:  an emulation of the system file, started for the drill on 127.0.0.1".into());
    }
    let single = drill.parts.len() == 1;
    for (number, part) in drill.parts.iter().enumerate() {
        let url = places.at(&part.target);
        let load = if single { rate } else { of_part(drill, part) };
        let name = if number == 0 { "load:" } else { "" };
        match &part.requests {
            None => line(format!("{name:<8} GET {url} at up to {load:.1}/s")),
            Some(file) => {
                let (kinds, at) = (file.requests.len(), url.origin());
                line(format!("{name:<8} {kinds} kinds of requests of {at} at up to {load:.1}/s"));
                let total: f64 = file.requests.iter().map(|kind| kind.weight).sum();
                for kind in &file.requests {
                    let share = words::percent(kind.weight / total);
                    line(format!("         {share} {}: {} {}", kind.name, kind.method, kind.path));
                }
            }
        }
        if let Some(believes) = &part.believes {
            line(format!("         {}", words::believes(believes)));
        }
    }
    let classes: Vec<String> =
        drill.classes.iter().map(|class| format!("{}: {class}", drill.class_header)).collect();
    line(format!("         {}", classes.join(", ")));
    for (name, value) in &drill.headers {
        let secret = is_secret(name) && !value.contains("{{env ");
        line(format!("         {name}: {}", if secret { "(not shown)" } else { value }));
    }
    let (callers, limit) = (&drill.callers, drill.callers.limit);
    let timeout = callers.timeout.unwrap_or(drill.patience);
    line(match callers.manner {
        Manner::None => format!("callers: no retries, {} for a reply", drill.patience),
        Manner::Naive => {
            format!("callers: up to {limit} retries at once, {timeout} for each attempt")
        }
        Manner::Standard => {
            format!("callers: up to {limit} retries with backoff, {timeout} for each attempt")
        }
        Manner::Policy => {
            let follows = callers.follows.as_ref();
            let edge = follows.map_or("", |follows| follows.edge.as_str());
            let file = follows.and_then(|follows| follows.file.as_ref());
            let file =
                file.map_or("the system file".to_owned(), |(path, _)| path.display().to_string());
            format!("callers: retry as `{edge}` of {file}")
        }
    });
    let b = &drill.bounds;
    line(format!(
        "bounds:  {}/s, {} requests, {}, {} under way",
        b.rate, b.requests, b.time, b.in_flight
    ));
    for (host, owner) in &drill.owners {
        line(format!("owner:   {host} belongs to {owner}"));
    }
    for metric in &drill.metrics {
        let asked = match &metric.kind {
            MetricKind::Prometheus { at, query } => format!("GET {at} query {query}"),
            MetricKind::Envoy { at, stat } => format!("GET {at} statistics {stat}"),
            MetricKind::Scrape { at, series } => format!("GET {at} series {series}"),
            MetricKind::Emulate { at, count, of } => {
                let of = of.as_deref().unwrap_or("all with a capacity");
                format!("GET {} {count} of {of}", places.admin(at).at("/counts"))
            }
        };
        line(format!("metric:  {}: {asked}, every {}", metric.name, drill.interval));
    }
    let recovered = &drill.recovered;
    let also = recovered.metric.as_ref().map(|w| format!(" and {}", words::metric(drill, w)));
    line(format!(
        "well:    goodput at least {} for {}{}",
        words::percent(recovered.goodput),
        recovered.hold,
        also.unwrap_or_default()
    ));
    for (n, phase) in drill.phases.iter().enumerate() {
        line(format!("{:>2}. {}", n + 1, phase.name));
        for act in acts(drill, &phase.kind, system, places) {
            line(format!("      {act}"));
        }
    }
    line(
        "however it ends: no more load; what was started is stopped; levers are opened by a ramp"
            .into(),
    );
    for abort in &drill.abort {
        line(format!("abort:   {}", words::abort(drill, abort)));
    }
    for required in &drill.expect {
        line(format!("expect:  {}", words::requirement(drill, required)));
    }
    let s = &drill.search;
    let what = match s.of {
        Size::Load => {
            format!("the load up to {:.1}/s, the trigger lasting {}", s.to.unwrap_or(rate), s.lasts)
        }
        Size::Trigger => format!("the trigger up to {:.1} s, at {rate:.1}/s", s.to.unwrap_or(30.0)),
    };
    line(format!("--headroom would vary {what}; {} tries at each end", s.repeats));
    out
}

/// Requests per second of a part, where the plan says how many there are.
fn of_part(drill: &Drill, part: &Part) -> f64 {
    let rates = drill.load.as_deref().unwrap_or_default();
    rates.iter().zip(&part.shares).map(|(rate, share)| rate * share).sum()
}

/// What a phase does besides waiting.
fn acts(drill: &Drill, kind: &PhaseKind, system: Option<&System>, places: &Places) -> Vec<String> {
    let lines = |word: &str, acts: &[crate::act::Act]| {
        acts.iter().map(|act| format!("{word}{act}")).collect::<Vec<String>>()
    };
    match kind {
        PhaseKind::Load { share, over } => {
            vec![format!("load to {} over {over}", words::percent(*share))]
        }
        PhaseKind::Start { trigger, lasts } => {
            let Some(cause) = drill.triggers.get(*trigger) else { return Vec::new() };
            let script = script(drill, cause, places);
            let mut all = lines("", &script.start);
            if let Some(lasts) = lasts.or_else(|| own_length(cause, system)) {
                all.push(format!("after {lasts}:"));
            } else {
                all.push("when it is stopped, or the drill ends:".to_owned());
            }
            all.extend(lines("", &script.stop));
            all.extend(script.checks.iter().map(|check| format!("check: {check}")));
            all
        }
        PhaseKind::Stop(trigger) => {
            let Some(cause) = drill.triggers.get(*trigger) else { return Vec::new() };
            lines("", &script(drill, cause, places).stop)
        }
        PhaseKind::Lever { lever, pull } => {
            let Some(of) = drill.levers.get(*lever) else { return Vec::new() };
            let why = format!("the drill {}: {}", drill.name, words::pull(drill, pull));
            lines("", &lever::acts(drill, of, pull, places, &why))
        }
        PhaseKind::Ask(text) => vec![format!("asks, and goes on when somebody says so: {text}")],
        PhaseKind::Hold(_) | PhaseKind::Recover(_) | PhaseKind::Healthy(_) => Vec::new(),
    }
}

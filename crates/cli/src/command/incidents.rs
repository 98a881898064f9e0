//! `damper incidents`.

use anyhow::bail;
use damper_sim::State;
use serde_json::{Value, json};

use crate::args::IncidentsArgs;
use crate::incidents::catalogue::{CATALOGUE, Row};
use crate::incidents::{INCIDENTS, Incident};
use crate::lab::stage::Stage;
use crate::print::chart::Chart;
use crate::print::table::table;
use crate::{exit, interrupt, print, progress::Progress, words};

const HEIGHT: usize = 5;

pub(crate) fn run(args: &IncidentsArgs) -> anyhow::Result<u8> {
    let Some(name) = &args.name else {
        match (args.catalogue, args.json) {
            (true, true) => print::json(&Value::from_iter(CATALOGUE.iter().map(row_json)))?,
            (true, false) => catalogue(),
            (false, true) => print::json(&Value::from_iter(INCIDENTS.iter().map(facts)))?,
            (false, false) => list(),
        }
        return Ok(exit::OK);
    };
    let Some(incident) = INCIDENTS.iter().find(|i| i.id == name) else {
        let part = INCIDENTS.iter().map(|i| i.id).find(|id| name.len() > 2 && id.contains(&**name));
        let hint = part.map_or_else(
            || words::near(name, INCIDENTS.iter().map(|i| i.id)),
            |near| format!("; did you mean `{near}`?"),
        );
        bail!("there is no incident `{name}`{hint} (`damper incidents` lists them)");
    };
    if args.file {
        print::line(incident.file.trim_end());
        return Ok(exit::OK);
    }
    again(incident, args)
}

/// How one of the three runs ended, and how it should have.
struct Ended {
    name: &'static str,
    set: Vec<&'static str>,
    state: State,
    wanted: State,
    recovery_s: Option<f64>,
}

/// Runs it as it was, with less load, and with what ended it.
fn again(incident: &Incident, args: &IncidentsArgs) -> anyhow::Result<u8> {
    let stop = interrupt::flag();
    let progress = Progress::new(args.quiet || args.json);
    let report = |what: &str, done, total| progress.show(what, done, total);
    let show = |heading: &str, chart: &Chart| {
        if !args.json {
            progress.apart(|| {
                print::line("");
                print::line(&format!("  {heading}"));
                chart.draw(HEIGHT, !args.quiet);
            });
        }
    };
    if !args.json {
        progress.apart(|| story(incident));
    }
    let stage = Stage {
        name: incident.path,
        text: incident.file,
        stop: &stop,
        progress: &report,
        show: &show,
    };
    let cases: [(&'static str, Vec<&'static str>, State); 3] = [
        ("as it was", vec![], State::Metastable),
        ("with less load", vec![incident.below], State::Stable),
        ("with what ended it", incident.fix.to_vec(), State::Stable),
    ];
    let mut ended = Vec::new();
    for (name, set, wanted) in cases {
        let run = stage.run(&set)?;
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            print::note("interrupted");
            return Ok(exit::INTERRUPTED);
        }
        let verdict = run.simulated.verdict();
        let recovery_s = verdict.recovery.map(damper_control::Nanos::as_secs_f64);
        let how = match recovery_s {
            Some(0.0) => ", well again at once".to_owned(),
            Some(s) => format!(", well again {} after the trigger", print::seconds(s)),
            None => String::new(),
        };
        let heading = format!("{name}: {}{how}", verdict.state.name());
        (stage.show)(&print::paint(print::BOLD, &heading), &run.chart());
        ended.push(Ended { name, set, state: verdict.state, wanted, recovery_s });
    }
    drop(progress);
    let as_on_record = ended.iter().all(|e| e.state == e.wanted);
    if args.json {
        let mut all = facts(incident);
        all["as_on_record"] = json!(as_on_record);
        all["runs"] = Value::from_iter(ended.iter().map(|e| {
            json!({
                "name": e.name,
                "set": e.set,
                "state": e.state.name(),
                "expected": e.wanted.name(),
                "recovery_s": e.recovery_s,
            })
        }));
        print::json(&all)?;
    } else {
        print::line("");
        print::line(&format!("  less load:        --set '{}'", incident.below));
        for set in incident.fix {
            print::line(&format!("  what ended it:    --set '{set}'"));
        }
        print::line(&format!("  hidden capacity:  damper headroom {}", incident.path));
        if !as_on_record {
            print::note("this did not go as it is on record");
        }
    }
    Ok(if as_on_record { exit::OK } else { exit::GATE })
}

fn story(incident: &Incident) {
    let title = format!("{}, {} ({})", incident.who, incident.date, incident.lasted);
    print::line(&print::paint(print::BOLD, &title));
    let parts = [
        ("trigger", incident.trigger),
        ("loop", incident.sustained),
        ("ended by", incident.ended),
        ("source", incident.source),
    ];
    for (name, text) in parts {
        print::line(&format!("  {name:<9} {text}"));
    }
}

fn list() {
    let rows: Vec<Vec<String>> = INCIDENTS
        .iter()
        .map(|i| [i.id, i.date, i.lasted, i.sustained].map(str::to_owned).to_vec())
        .collect();
    left_table(&["incident", "began", "lasted", "what kept it going"], &rows);
    print::line("");
    print::line(
        "damper incidents NAME runs one; --file prints its system file; --catalogue lists the 22 of OSDI '22.",
    );
}

fn catalogue() {
    for r in CATALOGUE {
        let hours = r.hours.map_or_else(String::new, |h| format!(", {h} h"));
        let date = if r.date.is_empty() { "date not known" } else { r.date };
        print::line(&format!("{}  {date}{hours}", print::paint(print::BOLD, r.id)));
        print::line(&format!("  {}; kept going by {}", r.trigger, r.sustained));
        print::line(&format!("  ended by: {}", r.mitigation));
        print::line(&format!("  reproduced by: {} (examples/{})", r.mechanism, r.example));
    }
    print::line("");
    print::line(
        "Huang et al., \"Metastable Failures in the Wild\", OSDI '22, table 1, and Twitter from its text.",
    );
    print::line("~: taken for a metastable failure by the authors.");
}

/// A table of words: every column to the left.
fn left_table(head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|r| r[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let padded: Vec<Vec<String>> = rows
        .iter()
        .map(|r| {
            let cell = |(i, c): (usize, &String)| {
                format!("{c}{}", " ".repeat(width(i) - c.chars().count()))
            };
            r.iter().enumerate().map(cell).collect()
        })
        .collect();
    let heads: Vec<String> = head
        .iter()
        .enumerate()
        .map(|(i, h)| format!("{h}{}", " ".repeat(width(i) - h.chars().count())))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(&heads, &padded);
}

fn facts(i: &Incident) -> Value {
    json!({
        "id": i.id,
        "who": i.who,
        "date": i.date,
        "lasted": i.lasted,
        "trigger": i.trigger,
        "sustained": i.sustained,
        "ended": i.ended,
        "source": i.source,
        "file": i.path,
        "below": i.below,
        "fix": i.fix,
    })
}

fn row_json(r: &Row) -> Value {
    json!({
        "id": r.id,
        "date": if r.date.is_empty() { Value::Null } else { json!(r.date) },
        "hours": r.hours,
        "trigger": r.trigger,
        "sustained": r.sustained,
        "mitigation": r.mitigation,
        "keys": r.mechanism,
        "example": r.example,
    })
}

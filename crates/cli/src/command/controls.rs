//! `damper controls`.

use anyhow::bail;
use damper_control::entry::{Entry, Kind, Parameter, Unit};
use damper_control::observe::Metric;
use damper_control::registry;
use serde_json::{Value, json};

use crate::args::ControlsArgs;
use crate::{exit, print};

pub(crate) fn run(args: &ControlsArgs) -> anyhow::Result<u8> {
    match &args.name {
        Some(name) => one(&find(name)?, args.json)?,
        None if args.json => print::json(&Value::from_iter(registry::all().map(summary)))?,
        None => list(),
    }
    Ok(exit::OK)
}

fn find(name: &str) -> anyhow::Result<Entry> {
    if let Some(entry) = registry::find(name) {
        return Ok(*entry);
    }
    // Part of a name is likelier than a name with other letters: `lifo`, `token`.
    let part = registry::all().map(|e| e.name).find(|n| name.len() > 2 && n.contains(name));
    let near = registry::all()
        .map(|e| (strsim::damerau_levenshtein(name, e.name), e.name))
        .min()
        .filter(|(distance, _)| *distance <= name.len() / 2 + 1);
    let hint = part.or(near.map(|(_, near)| near));
    let hint = hint.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    bail!("there is no control `{name}`{hint} (`damper controls` lists them)");
}

fn one(entry: &Entry, as_json: bool) -> anyhow::Result<()> {
    if !as_json {
        print::line(entry.page().trim_end());
        return Ok(());
    }
    let mut all = summary(entry);
    all["place"] = entry.kind.place().into();
    all["rule"] = entry.rule.into();
    all["when"] = entry.when.into();
    all["traps"] = entry.traps.into();
    all["readings"] = Value::from_iter(entry.readings.iter().map(|r| {
        let metric = match r.metric {
            Metric::Counter => "counter",
            Metric::Gauge => "gauge",
        };
        json!({"name": r.name, "metric": metric, "doc": r.doc})
    }));
    print::json(&all)
}

fn summary(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "kind": entry.kind.name(),
        "summary": entry.summary,
        "source": entry.source,
        "parameters": Value::from_iter(entry.parameters.iter().map(parameter)),
    })
}

fn parameter(p: &Parameter) -> Value {
    let value = |x: f64| match p.unit {
        Unit::Flag => json!(x != 0.0),
        Unit::Count => json!(x as u64),
        _ => json!(x),
    };
    json!({
        "name": p.name,
        "unit": p.unit.name(),
        "default": value(p.default),
        "min": value(p.min),
        "max": if p.max < 1e15 { value(p.max) } else { Value::Null },
        "doc": p.doc,
    })
}

fn list() {
    for kind in Kind::ALL {
        let mut entries = registry::of(kind).peekable();
        if entries.peek().is_none() {
            continue;
        }
        print::line(&format!("{}  {}", print::paint(print::BOLD, kind.name()), kind.place()));
        for entry in entries {
            print::line(&format!("  {:<22} {}", entry.name, entry.summary));
        }
        print::line("");
    }
    print::line("damper controls NAME prints the rule, parameters, traps and counters of one.");
}

//! The price of headroom.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use super::{Asked, fill, image, interval, list, number, page, provenance, rate, text};
use crate::plot::{Bar, COLOURS, bars};

/// An invented price: that of a small virtual machine that serves 30/s.
const COST: &str = "0.10 USD/h for 30/s";

/// What is looked at: a file, its store, and the workers of that.
const SYSTEMS: [(&str, &str, u32); 3] = [
    ("examples/retry-storm.yaml", "db", 30),
    ("examples/five-layers.yaml", "store", 30),
    ("examples/lookaside-cache.yaml", "store", 30),
];

pub(super) fn make(asked: &Asked) -> Result<()> {
    let mut summary = String::from(
        "| system | load | serving | now | stable as it is | times what there is | the price of headroom |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut checks = String::from(
        "| system | workers | state at its load | hidden capacity |\n|---|---|---|---|\n",
    );
    let mut tables = String::new();
    let mut last = Value::Null;
    for (file, store, workers) in SYSTEMS {
        let cost = ["--cost", COST, "--json"].map(str::to_owned);
        let result = asked.json(&["headroom", file], &cost)?;
        let name = text(&result, "system").to_owned();
        let cost = &result["cost"];
        let stable = &cost["stable"];
        let money =
            |of: &Value, key: &str| number(of, key).map_or("–".to_owned(), |v| format!("{v:.2}"));
        let _ = writeln!(
            summary,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            rate(number(&result, "load_rps").unwrap_or(0.0)),
            money(cost, "serving_per_hour"),
            money(cost, "now_per_hour"),
            money(stable, "per_hour"),
            money(stable, "scale"),
            money(cost, "headroom_per_hour"),
        );
        let _ = write!(
            tables,
            "### {name}\n\n![Cost of running {name} stable](../images/headroom-{name}.svg)\n\n"
        );
        tables.push_str(&remedies(&result));
        image(&format!("headroom-{name}.svg"), &drawing(&result, &name))?;
        let scale = number(stable, "scale").unwrap_or(1.0);
        checks.push_str(&check(asked, file, &name, store, workers, scale)?);
        last = result;
    }
    fill(
        &page("price-of-headroom.md"),
        &[
            ("summary", summary),
            ("systems", tables),
            ("checks", checks),
            ("provenance", provenance(&last)),
        ],
    )
}

/// Whether the system is stable with what was computed: 5 % more and 5 % less than that.
fn check(
    asked: &Asked,
    file: &str,
    name: &str,
    store: &str,
    workers: u32,
    scale: f64,
) -> Result<String> {
    let mut rows = String::new();
    for (side, factor) in [("5 % less", 0.95), ("5 % more", 1.05)] {
        let scaled = (f64::from(workers) * scale * factor).round();
        let set = format!("services.{store}.workers={scaled}");
        let words = ["headroom", file, "--no-remedies", "--set", set.as_str(), "--json"];
        let result = asked.json(&words, &[])?;
        let hidden = number(&result, "hidden_rps").map_or("–".to_owned(), rate);
        let _ = writeln!(
            rows,
            "| {name} | {scaled} ({side}) | {} | {hidden} |",
            text(&result, "state")
        );
    }
    Ok(rows)
}

fn remedies(result: &Value) -> String {
    let mut out = String::from(
        "| change | hidden capacity | stable costs | 95 % | saves | success lost at 1 % errors, points |\n\
         |---|---|---|---|---|---|\n",
    );
    for remedy in list(result, "remedies") {
        let cost = &remedy["cost"];
        let Some(per_hour) = number(cost, "per_hour") else { continue };
        let [low, high] = interval(cost, "per_hour_ci95").unwrap_or([per_hour; 2]);
        let lost = number(remedy, "success_before").unwrap_or(1.0)
            - number(remedy, "success_after").unwrap_or(1.0);
        let seen = interval(remedy, "price_ci95").is_none_or(|[low, high]| low > 0.0 || high < 0.0);
        let _ = writeln!(
            out,
            "| {} | {} | {per_hour:.2} | {low:.2}–{high:.2} | {:.2} | {} |",
            text(remedy, "name"),
            rate(number(remedy, "hidden_rps").unwrap_or(0.0)),
            number(cost, "saved_per_hour").unwrap_or(0.0),
            if seen { format!("{:.2}", lost * 100.0) } else { "none seen".to_owned() }
        );
    }
    out.push('\n');
    out
}

/// A name without its explanation.
fn short(name: &str) -> &str {
    name.split_once(':').map_or(name, |(name, _)| name)
}

fn drawing(result: &Value, name: &str) -> String {
    let cost = &result["cost"];
    let bar = |name: &str, value: Option<f64>, colour| {
        value.map(|value| Bar {
            name: name.to_owned(),
            value,
            says: format!("{value:.2}/h"),
            colour,
        })
    };
    let mut all: Vec<Bar> = [
        bar("what the load takes", number(cost, "serving_per_hour"), COLOURS[5]),
        bar("what there is now", number(cost, "now_per_hour"), COLOURS[5]),
        bar("stable as it is", number(&cost["stable"], "per_hour"), COLOURS[1]),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.extend(
        list(result, "remedies")
            // What comes behind a colon explains, and has no room here.
            .filter_map(|r| {
                bar(short(text(r, "name")), number(&r["cost"], "per_hour"), COLOURS[0])
            }),
    );
    bars(&format!("{name}: what it costs to be stable"), &format!("USD per hour, at {COST}"), &all)
}

//! The price of headroom.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use super::asked::Asked;
use super::csv::{Csv, figure};
use super::{fill, image, interval, list, number, page, provenance, rate, text};
use crate::plot::{Bar, COLOURS, bars};

/// An invented price: that of a small virtual machine that serves 30/s.
const COST: &str = "0.10 USD/h for 30/s";

/// What is looked at: a file, its store, and the workers of that.
const SYSTEMS: [(&str, &str, u32); 3] = [
    ("examples/retry-storm.yaml", "db", 30),
    ("examples/five-layers.yaml", "store", 30),
    ("examples/lookaside-cache.yaml", "store", 30),
];

/// A group for each system.
pub(super) const GROUPS: usize = SYSTEMS.len();

pub(super) fn ask(asked: &Asked, group: usize) -> Result<()> {
    let (file, store, workers) = SYSTEMS[group];
    let result = costs(asked, file)?;
    checked(asked, store, workers, file, scale(&result)).map(drop)
}

fn costs(asked: &Asked, file: &str) -> Result<Value> {
    asked.json(&["headroom", file], &["--cost", COST, "--json"].map(str::to_owned))
}

/// So many times the capacity that there is makes it stable.
fn scale(result: &Value) -> f64 {
    number(&result["cost"]["stable"], "scale").unwrap_or(1.0)
}

pub(super) fn make(asked: &Asked) -> Result<()> {
    let mut figures = Csv::new(&FIGURES);
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
        let result = costs(asked, file)?;
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
        put_down(&mut figures, &result, &name);
        for (side, scaled, result) in checked(asked, store, workers, file, scale(&result))? {
            let hidden = number(&result, "hidden_rps").map_or("–".to_owned(), rate);
            let _ = writeln!(
                checks,
                "| {name} | {scaled} ({side}) | {} | {hidden} |",
                text(&result, "state")
            );
        }
        last = result;
    }
    figures.write("price-of-headroom.csv")?;
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

/// The system with 5 % less and 5 % more than what was computed: workers, and what they do.
fn checked(
    asked: &Asked,
    store: &str,
    workers: u32,
    file: &str,
    scale: f64,
) -> Result<Vec<(&'static str, f64, Value)>> {
    let one = |(side, factor): (&'static str, f64)| {
        let scaled = (f64::from(workers) * scale * factor).round();
        let set = format!("services.{store}.workers={scaled}");
        let words = ["headroom", file, "--no-remedies", "--set", set.as_str(), "--json"];
        Ok((side, scaled, asked.json(&words, &[])?))
    };
    [("5 % less", 0.95), ("5 % more", 1.05)].into_iter().map(one).collect()
}

/// Rates per second, prices per hour, success as a share of requests.
const FIGURES: [&str; 8] = [
    "system",
    "change",
    "hidden_rps",
    "per_hour",
    "per_hour_low",
    "per_hour_high",
    "success_before",
    "success_after",
];

/// What it costs as it is, and with each change.
fn put_down(csv: &mut Csv, result: &Value, name: &str) {
    let mut row = |change: &str, of: &Value, cost: &Value| {
        let ends = interval(cost, "per_hour_ci95").map_or([None; 2], |e| e.map(Some));
        csv.row(&[
            name.to_owned(),
            change.to_owned(),
            figure(number(of, "hidden_rps")),
            figure(number(cost, "per_hour")),
            figure(ends[0]),
            figure(ends[1]),
            figure(number(of, "success_before")),
            figure(number(of, "success_after")),
        ]);
    };
    row("none", result, &result["cost"]["stable"]);
    for remedy in list(result, "remedies") {
        row(text(remedy, "name"), remedy, &remedy["cost"]);
    }
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

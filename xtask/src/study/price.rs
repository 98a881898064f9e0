//! The price of a budget.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use super::asked::{Asked, Shard};
use super::{
    fill, image, interval, list, number, page, points, price_at, provenance, rate, short, text,
};
use crate::plot::{Axis, COLOURS, Chart, Mark, Series};

const FILE: &str = "examples/studies/one-service.yaml";
/// The same service at a tenth of its size.
const SMALL: [&str; 2] = ["services.db.workers=3", "load=15/s"];
/// The share of errors at which settings are compared.
const AT: f64 = 0.01;
const ERRORS: [(f64, &str); 4] =
    [(0.0001, "0.01 %"), (0.001, "0.1 %"), (0.01, "1 %"), (0.05, "5 %")];

/// Parts of one size: it has more settings than one machine is for.
const PARTS: usize = 4;

/// Words for the service as it is, and for the small one.
const SIZES: [&[&str]; 2] =
    [&["price", FILE], &["price", FILE, "--set", SMALL[0], "--set", SMALL[1]]];

/// A group for each part of each size.
pub(super) const GROUPS: usize = SIZES.len() * PARTS;

pub(super) fn ask(asked: &Asked, group: usize) -> Result<()> {
    let shard = Shard { index: group % PARTS, count: PARTS };
    asked.price_part(SIZES[group / PARTS], shard).map(drop)
}

pub(super) fn make(asked: &Asked) -> Result<()> {
    let of = |size: usize, csv: &str| asked.price_of_parts(SIZES[size], PARTS, &page(csv));
    let large = of(0, "price-of-a-budget.csv")?;
    let small = of(1, "price-of-a-budget-small.csv")?;
    for bursty in [false, true] {
        let name = if bursty { "price-bursts.svg" } else { "price-independent.svg" };
        image(name, &plane(&large, bursty).draw())?;
    }
    fill(
        &page("price-of-a-budget.md"),
        &[
            ("frontier", table(&large, |s| s["frontier"] == true)),
            ("frontier, small", table(&small, |s| s["frontier"] == true)),
            ("defaults", defaults(&large, &small)),
            ("recommended", recommended(&[("300/s", &large), ("30/s", &small)])),
            ("provenance", provenance(&large)),
        ],
    )
}

fn hidden(setting: &Value) -> String {
    let rates = number(setting, "hidden_rps").zip(interval(setting, "hidden_ci95"));
    rates.map_or("none".to_owned(), |(mean, [low, high])| {
        format!("{} ({low:.0}–{high:.0})", rate(mean))
    })
}

fn table(result: &Value, keep: impl Fn(&Value) -> bool) -> String {
    let mut rows: Vec<&Value> = list(result, "settings").filter(|s| keep(s)).collect();
    let mean = |s: &Value| number(s, "hidden_rps").unwrap_or(0.0);
    rows.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    let mut out = String::from("| budget | hidden capacity |");
    for kind in ["", ", bursts"] {
        for (_, share) in ERRORS {
            let _ = write!(out, " {share}{kind} |");
        }
    }
    out.push_str("\n|---|---|");
    out.push_str(&"---|".repeat(2 * ERRORS.len()));
    out.push('\n');
    for row in rows {
        let _ = write!(out, "| {} | {} |", short(text(row, "budget")), hidden(row));
        for bursty in [false, true] {
            for (share, _) in ERRORS {
                let price = price_at(row, share, bursty).map_or("–".to_owned(), points);
                let _ = write!(out, " {price} |");
            }
        }
        out.push('\n');
    }
    out
}

/// What each source ships, in both sizes.
fn defaults(large: &Value, small: &Value) -> String {
    let mut out = String::from(
        "| default of | hidden, 300/s | price | hidden, 30/s | price | what gains no less for no more |\n\
         |---|---|---|---|---|---|\n",
    );
    let judged = |s: &Value| {
        number(s, "price").zip(interval(s, "price_ci95")).map_or("–".to_owned(), points)
    };
    for row in list(large, "settings").filter(|s| s["default"] == true) {
        let same = list(small, "settings").find(|s| s["budget"] == row["budget"]);
        let by = row.get("dominated_by").and_then(Value::as_str);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            short(text(row, "budget")),
            hidden(row),
            judged(row),
            same.map_or("–".to_owned(), hidden),
            same.map_or("–".to_owned(), judged),
            by.map_or("nothing: it is on the frontier".to_owned(), short)
        );
    }
    out
}

fn recommended(results: &[(&str, &Value)]) -> String {
    let mut out = String::new();
    for (size, result) in results {
        let name = text(result, "recommended");
        let found = list(result, "settings").find(|s| text(s, "budget") == name);
        let _ = match found {
            Some(s) => writeln!(
                out,
                "- at {size}: `{name}`: hidden capacity {}, price {} points",
                hidden(s),
                number(s, "price").zip(interval(s, "price_ci95")).map_or(String::new(), points)
            ),
            None => writeln!(out, "- at {size}: no setting costs so little"),
        };
    }
    out
}

fn plane(result: &Value, bursty: bool) -> Chart {
    let place = |s: &Value| Some((price_at(s, AT, bursty)?.0 * 100.0, number(s, "hidden_rps")?));
    let all: Vec<(&Value, (f64, f64))> =
        list(result, "settings").filter_map(|s| Some((s, place(s)?))).collect();
    let of = |controls: &[&str]| {
        let own = all.iter().filter(|(s, _)| controls.contains(&text(s, "control")));
        own.map(|(_, p)| *p).collect::<Vec<_>>()
    };
    let family = |name: &str, colour: usize, controls: &[&str]| {
        Series::new(name, COLOURS[colour], Mark::Dot, of(controls))
    };
    let mut series = vec![
        Series::new(
            "the frontier",
            COLOURS[5],
            Mark::Stairs,
            stairs(all.iter().map(|(_, p)| *p).collect()),
        ),
        family("share of live calls: envoy, ratio, failsafe", 0, &["envoy", "ratio", "failsafe"]),
        family(
            "share of requests: finagle, tower, google",
            3,
            &["finagle", "tower", "linkerd", "deposit", "google"],
        ),
        family("buckets: token-bucket, aws", 1, &["token-bucket", "aws-standard", "aws-2026"]),
        family("adaptive: arb, retry-guard", 2, &["arb", "retry-guard"]),
        family("per minute", 4, &["per-minute"]),
    ];
    let ring = |name: &str, colour, s: Option<&(&Value, (f64, f64))>| {
        s.map(|(_, p)| Series::new(name, colour, Mark::Ring, vec![*p]))
    };
    let default = |control: &str| {
        all.iter().find(|(s, _)| s["default"] == true && text(s, "control") == control)
    };
    let control = |name: &str| all.iter().find(|(s, _)| text(s, "control") == name);
    let recommended = all.iter().find(|(s, _)| s["budget"] == result["recommended"]);
    series.extend(
        [
            ring("no budget", COLOURS[5], control("none")),
            ring("no retries", COLOURS[5], control("")),
            ring("Envoy's default", COLOURS[0], default("envoy")),
            ring("gRPC's default", COLOURS[1], default("token-bucket")),
            ring("recommended", "#1a1a1a", recommended),
        ]
        .into_iter()
        .flatten(),
    );
    let most = all.iter().map(|(_, p)| p.0).fold(0.0, f64::max);
    let high = all.iter().map(|(_, p)| p.1).fold(0.0, f64::max);
    let kind = if bursty { "in bursts of 1 s" } else { "independently" };
    Chart {
        title: format!("1 % of attempts fail {kind}"),
        x: Axis::from_zero("price: success lost, percentage points", most, |v| format!("{v:.1}")),
        y: Axis::from_zero("hidden capacity, requests per second", high, |v| format!("{v:.0}")),
        series,
    }
}

/// The points that no other beats, from the cheapest.
fn stairs(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut on: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if on.last().is_none_or(|last| point.1 > last.1) {
            on.push(point);
        }
    }
    on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_by_hand() {
        let points = vec![(0.5, 3.0), (0.0, 1.0), (0.2, 0.5), (0.2, 2.0), (0.9, 3.0)];
        assert_eq!(stairs(points), [(0.0, 1.0), (0.2, 2.0), (0.5, 3.0)]);
    }
}

//! Budgets and deadlines together, over the depth of a chain.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use super::asked::Asked;
use super::csv::Csv;
use super::{fill, image, interval, list, number, page, points, price_at, provenance};
use crate::plot::{Axis, COLOURS, Chart, Mark, Series};

const FILE: &str = "examples/studies/chain.yaml";
/// The call trees, by the number of layers that retry.
const DEPTHS: [&str; 5] = [
    "[store]",
    "[{d: [store]}]",
    "[{c: [{d: [store]}]}]",
    "[{b: [{c: [{d: [store]}]}]}]",
    "[{a: [{b: [{c: [{d: [store]}]}]}]}]",
];
const DEADLINES: [(&str, &str); 3] =
    [("none", "none"), ("kept by the caller", "2s"), ("travels", "{total: 2s, travels: true}")];
const BUDGETS: [(&str, &str); 4] = [
    ("no budget", ""),
    ("envoy 20 %, floor 3", "{kind: envoy, percent: 20%, min_retry_concurrency: 3}"),
    ("token bucket 10 / 0.1", "{kind: token-bucket, max_tokens: 10, token_ratio: 0.1}"),
    ("deposit 10 %, 1/s", "{kind: deposit, percent: 10%, min_per_second: 1}"),
];
const AT: f64 = 0.01;

/// One cell: what a budget gives at a depth with a deadline.
struct Cell {
    depth: usize,
    deadline: usize,
    budget: usize,
    /// As shares of advertised capacity.
    hidden: f64,
    ends: [f64; 2],
    independent: (f64, [f64; 2]),
    bursts: (f64, [f64; 2]),
    success: f64,
}

/// A group for each depth with each deadline.
pub(super) const GROUPS: usize = DEPTHS.len() * DEADLINES.len();

/// All budgets at a depth with a deadline.
fn answer(asked: &Asked, depth: usize, deadline: usize) -> Result<Value> {
    let calls = format!("requests.query.calls={}", DEPTHS[depth]);
    let policy = format!("policies.default.deadline={}", DEADLINES[deadline].1);
    let budgets = BUDGETS.iter().filter(|b| !b.1.is_empty());
    let mut more: Vec<String> =
        budgets.flat_map(|b| ["--budget".to_owned(), b.1.to_owned()]).collect();
    more.extend(["--errors".to_owned(), "1%".to_owned()]);
    asked.price(&["price", FILE, "--set", &calls, "--set", &policy], &more)
}

pub(super) fn ask(asked: &Asked, group: usize) -> Result<()> {
    answer(asked, group / DEADLINES.len(), group % DEADLINES.len()).map(drop)
}

pub(super) fn make(asked: &Asked) -> Result<()> {
    let mut cells = Vec::new();
    let mut last = Value::Null;
    for depth in 0..DEPTHS.len() {
        for deadline in 0..DEADLINES.len() {
            let result = answer(asked, depth, deadline)?;
            cells.extend(BUDGETS.iter().enumerate().filter_map(|(budget, (name, written))| {
                let budget_name = if written.is_empty() { *name } else { *written };
                let found = list(&result, "settings").find(|s| s["budget"] == *budget_name)?;
                let top = number(&result, "advertised_rps")?;
                let success =
                    list(found, "prices").filter_map(|p| number(p, "success")).fold(1.0, f64::min);
                Some(Cell {
                    depth,
                    deadline,
                    budget,
                    hidden: number(found, "hidden_rps").unwrap_or(0.0) / top,
                    ends: interval(found, "hidden_ci95").unwrap_or([0.0; 2]).map(|e| e / top),
                    independent: price_at(found, AT, false)?,
                    bursts: price_at(found, AT, true)?,
                    success,
                })
            }));
            last = result;
        }
    }
    figures(&cells).write("budgets-and-deadlines.csv")?;
    image("deadlines-hidden.svg", &hidden(&cells).draw())?;
    fill(
        &page("budgets-and-deadlines.md"),
        &[
            (
                "hidden",
                table(&cells, |c| {
                    format!(
                        "{:.1} % ({:.1}–{:.1})",
                        c.hidden * 100.0,
                        c.ends[0] * 100.0,
                        c.ends[1] * 100.0
                    )
                }),
            ),
            (
                "price",
                table(&cells, |c| format!("{} / {}", points(c.independent), points(c.bursts))),
            ),
            ("success", table(&cells, |c| format!("{:.3} %", c.success * 100.0))),
            ("provenance", provenance(&last)),
        ],
    )
}

/// Shares, of capacity and of requests.
fn figures(cells: &[Cell]) -> Csv {
    let mut csv = Csv::new(&[
        "layers",
        "deadline",
        "budget",
        "hidden",
        "hidden_low",
        "hidden_high",
        "price",
        "price_low",
        "price_high",
        "price_bursts",
        "price_bursts_low",
        "price_bursts_high",
        "success",
    ]);
    for c in cells {
        let ((price, [low, high]), (bursts, [bursts_low, bursts_high])) = (c.independent, c.bursts);
        let numbers = [
            c.hidden,
            c.ends[0],
            c.ends[1],
            price,
            low,
            high,
            bursts,
            bursts_low,
            bursts_high,
            c.success,
        ];
        let names = [DEADLINES[c.deadline].0, BUDGETS[c.budget].0].map(str::to_owned);
        let row = [(c.depth + 1).to_string()].into_iter().chain(names);
        csv.row(&row.chain(numbers.map(|n| n.to_string())).collect::<Vec<_>>());
    }
    csv
}

fn table(cells: &[Cell], print: impl Fn(&Cell) -> String) -> String {
    let mut out = String::from(
        "| deadline | budget | 1 layer | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|---|\n",
    );
    for (deadline, (name, _)) in DEADLINES.iter().enumerate() {
        for (budget, (budget_name, _)) in BUDGETS.iter().enumerate() {
            let _ = write!(out, "| {name} | {budget_name} |");
            for depth in 0..DEPTHS.len() {
                let found = cells
                    .iter()
                    .find(|c| (c.depth, c.deadline, c.budget) == (depth, deadline, budget));
                let _ = write!(out, " {} |", found.map_or("–".to_owned(), &print));
            }
            out.push('\n');
        }
    }
    out
}

fn hidden(cells: &[Cell]) -> Chart {
    let mut series = Vec::new();
    for (deadline, (name, _)) in DEADLINES.iter().enumerate() {
        for (budget, mark) in [(0, Mark::Line), (1, Mark::Dashed)] {
            let own = cells.iter().filter(|c| (c.deadline, c.budget) == (deadline, budget));
            series.push(Series::new(
                format!("deadline {name}, {}", BUDGETS[budget].0),
                COLOURS[deadline],
                mark,
                own.map(|c| ((c.depth + 1) as f64, (c.hidden * 100.0).max(0.1))).collect(),
            ));
        }
    }
    Chart {
        title: "Hidden capacity over depth".to_owned(),
        x: Axis {
            name: "layers that retry, three attempts each".to_owned(),
            from: 0.8,
            to: 5.2,
            ticks: (1..=5).map(f64::from).collect(),
            log: false,
            print: |v| format!("{v:.0}"),
        },
        y: Axis {
            name: "hidden capacity, percent of advertised, logarithmic".to_owned(),
            from: 0.1,
            to: 100.0,
            ticks: vec![0.1, 1.0, 10.0, 100.0],
            log: true,
            print: |v| if v < 1.0 { format!("{v:.1}") } else { format!("{v:.0}") },
        },
        series,
    }
}

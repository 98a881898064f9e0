//! `damper headroom` for people.

use damper_report::result::{Cost, Headroom, Remedy};

use super::table::table;
use super::{BOLD, DIM, bar, colour, count, line, paint, percent, provenance, rate, thousands};

/// Prints the verdict, the bar, the loop and the remedies.
pub(crate) fn headroom(r: &Headroom) {
    let state = paint(colour(&r.state), &r.state.to_uppercase());
    line(&format!("{}: {state} at {}", paint(BOLD, &r.origin.system), rate(r.load_rps)));
    line("");
    if let (Some(hidden), Some(advertised)) = (r.hidden_rps, r.advertised_rps) {
        for l in bar::capacity(hidden, advertised, r.load_rps, 66) {
            line(&format!("  {l}"));
        }
        line("");
    }
    let row = |name: &str, value: Option<f64>, ci: Option<[f64; 2]>, means: &str| {
        let value = value.map_or("not found".to_owned(), rate);
        let ci = ci.map_or(String::new(), |c| {
            format!("{}–{}", rate(c[0]).trim_end_matches("/s"), rate(c[1]).trim_end_matches("/s"))
        });
        line(&format!("  {name:<11} {value:>9}  {ci:<13}  {means}"));
    };
    row(
        "advertised",
        r.advertised_rps,
        r.advertised_ci95,
        "served at 99 % while nothing goes wrong",
    );
    row("hidden", r.hidden_rps, r.hidden_ci95, &format!("recovers by itself after {}", r.trigger));
    row("now", Some(r.load_rps), None, &exposure(r));
    line("");
    match &r.sustaining_loop {
        Some(l) => {
            line(&format!("{} {}", paint(BOLD, "What holds it down:"), l.summary));
            if let Some(shown) = &r.shown {
                line(&paint(
                    DIM,
                    &format!("  seen at {}: {}", rate(r.shown_load_rps), shown.reason),
                ));
            }
        }
        None if r.origin.partial => line("No loop was seen before the interruption."),
        None => {
            line("No sustaining loop: it recovers from this trigger at every load it can serve.");
        }
    }
    if !r.remedies.is_empty() {
        line("");
        remedies(r);
    }
    if let Some(costs) = &r.cost {
        line("");
        cost(r, costs);
    }
    line("");
    provenance(
        &r.origin,
        &format!(
            "{}, {} requests simulated",
            count(r.replications as usize, "replication"),
            thousands(r.simulated_requests)
        ),
    );
}

/// What it costs to run stable, and what each change saves.
fn cost(r: &Headroom, c: &Cost) {
    let money = |per_hour: f64| c.money(per_hour);
    line(&format!("{} at {}", paint(BOLD, "Cost"), c.given));
    let row = |name: &str, capacity: f64, per_hour: f64, means: &str| {
        line(&format!("  {name:<13} {:>9}  {:>12}  {means}", rate(capacity), money(per_hour)));
    };
    row("now", r.advertised_rps.unwrap_or(0.0), c.now_per_hour, "what there is");
    row("serving", r.load_rps, c.serving_per_hour, "what the load takes, and nothing more");
    let (Some(stable), Some(headroom)) = (&c.stable, c.headroom_per_hour) else {
        line("  running stable has no cost: it heals at no load that was tried");
        return;
    };
    let means = format!(
        "{}–{}; heals by itself at {}: {:.2} times what there is",
        Cost::number(stable.per_hour_ci95[0]),
        Cost::number(stable.per_hour_ci95[1]),
        rate(r.load_rps),
        stable.scale
    );
    row("stable", stable.capacity_rps, stable.per_hour, &means);
    line(&format!(
        "  The price of headroom: {}, {} a month.",
        money(headroom),
        c.amount(headroom.max(0.0) * HOURS_OF_A_MONTH),
    ));
    let rows: Vec<Vec<String>> = r
        .remedies
        .iter()
        .filter_map(|remedy| {
            let p = remedy.cost.as_ref()?;
            let at_most = if remedy.at_least { "≤ " } else { "" };
            Some(vec![
                remedy.name.clone(),
                format!("{at_most}{}", rate(p.capacity_rps)),
                format!("{at_most}{}", money(p.per_hour)),
                format!(
                    "{}–{}",
                    Cost::number(p.per_hour_ci95[0]),
                    Cost::number(p.per_hour_ci95[1])
                ),
                p.saved_per_hour.map_or(String::new(), money),
            ])
        })
        .collect();
    if !rows.is_empty() {
        line("");
        table(&["stable with", "capacity", "cost", "95 %", "saves"], &rows);
    }
}

/// 365 days in twelve.
const HOURS_OF_A_MONTH: f64 = 730.0;

fn exposure(r: &Headroom) -> String {
    match (r.exposure, r.state.as_str()) {
        (Some(e), "vulnerable" | "overloaded") if e > 0.0 => {
            format!(
                "{} above hidden: {} would have to go before it heals",
                percent(e),
                rate(e * r.load_rps / (1.0 + e))
            )
        }
        (Some(e), _) => format!("{} below hidden capacity", percent(-e)),
        (None, _) => String::new(),
    }
}

fn remedies(r: &Headroom) {
    line(&format!(
        "{} (hidden capacity; success when 1 % of attempts fail without overload: {} as it is)",
        paint(BOLD, "Remedies"),
        percent(r.remedies[0].success_before)
    ));
    let rows: Vec<Vec<String>> = r.remedies.iter().map(row).collect();
    table(&["change", "hidden", "95 %", "success", "price", ""], &rows);
    line("");
    line(&paint(DIM, "Each as the arguments that make it:"));
    for remedy in &r.remedies {
        let set: Vec<String> = remedy.set.iter().map(|s| format!("--set '{s}'")).collect();
        line(&format!("  {}", paint(DIM, &format!("# {}", remedy.name))));
        line(&format!("  {}", set.join(" ")));
    }
}

fn row(r: &Remedy) -> Vec<String> {
    let ci = r.hidden_ci95.map_or(String::new(), |c| {
        format!("{}–{}", rate(c[0]).trim_end_matches("/s"), rate(c[1]).trim_end_matches("/s"))
    });
    let gain = r.success_after - r.success_before;
    let clear = r.price_ci95[0] > 0.0 || r.price_ci95[1] < 0.0;
    let price = if clear { format!("{:+.2} %", gain * 100.0) } else { "none seen".to_owned() };
    vec![
        r.name.clone(),
        r.hidden_rps.map_or("not found".to_owned(), |h| {
            format!("{}{}", if r.at_least { "≥ " } else { "" }, rate(h))
        }),
        ci,
        percent(r.success_after),
        price,
        r.verdict.clone(),
    ]
}

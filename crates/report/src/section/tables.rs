//! How requests and attempts ended, by class and by service.

use std::collections::BTreeMap;

use super::facts::share;
use super::{cell, name_cell, section, table};
use crate::format;
use crate::html::El;
use crate::result::{ClassResult, Simulation};

/// The part; nothing if nothing ran.
pub(crate) fn part(run: &Simulation) -> Option<El> {
    if run.classes.is_empty() && run.services.is_empty() {
        return None;
    }
    let mut part = section("ends", "How requests and attempts ended").child(
        El::new("p").class("lead").text(format!(
            "At {}, over {} measured and {} replications.",
            format::rate(run.load_rps),
            format::seconds(run.measured_s),
            run.replications
        )),
    );
    if !run.classes.is_empty() {
        part.push(El::new("h3").text("Requests by class"));
        part.push(classes(run));
    }
    if !run.services.is_empty() {
        part.push(El::new("h3").text("Attempts by service"));
        part.push(services(run));
    }
    // A limit refuses wherever there are retries; a control that somebody has set is worth a look.
    if run.controls.iter().any(|c| c.key != "limit") {
        part.push(El::new("h3").text("Refusals by control"));
        part.push(controls(run));
    }
    Some(part)
}

fn classes(run: &Simulation) -> El {
    let rows = ordered(&run.class_order, &run.classes).into_iter().map(|(name, c)| {
        vec![
            name_cell(name),
            cell(format::count(c.offered)),
            cell(share(c.good, c.offered)),
            cell(format::count(c.rejected)),
            cell(format::count(c.timed_out)),
            cell(format::count(c.failed)),
            cell(format::count(c.shed)),
            cell(format::count(c.unfinished)),
            not_good(c),
            cell(format::seconds(c.latency_p50_s)),
            cell(format::seconds(c.latency_p99_s)),
        ]
    });
    let columns = [
        "class",
        "offered",
        "good",
        "rejected",
        "timed out",
        "failed",
        "shed",
        "unfinished",
        "not good (95 %)",
        "latency p50",
        "p99",
    ];
    table("requests by class", &columns, rows)
}

fn not_good(class: &ClassResult) -> El {
    let cell = cell(format::percent(class.rejection));
    match format::interval(Some(class.rejection_ci95), format::percent) {
        Some(interval) => cell.child(El::new("span").class("aside").text(format!(" {interval}"))),
        None => cell,
    }
}

fn services(run: &Simulation) -> El {
    let rows = ordered(&run.service_order, &run.services).into_iter().map(|(name, s)| {
        vec![
            name_cell(name),
            cell(format::count(s.attempts)),
            cell(format::times(s.amplification)),
            cell(format::percent(s.utilisation)),
            cell(format::percent(s.wasted)),
            cell(format::count(s.served)),
            cell(format::count(s.rejected)),
            cell(format::count(s.shed)),
            cell(format::count(s.abandoned)),
            cell(format::count(s.dropped)),
            cell(format::count(s.failed)),
            cell(format::count(s.failed_below)),
            cell(format::seconds(s.queue_delay_mean_s)),
            cell(format::seconds(s.queue_delay_p99_s)),
            cell(format::count(s.queue_max)),
        ]
    });
    let columns = [
        "service",
        "attempts",
        "amplification",
        "utilisation",
        "wasted",
        "served",
        "rejected",
        "shed",
        "abandoned",
        "dropped",
        "failed",
        "failed below",
        "queue delay",
        "p99",
        "longest queue",
    ];
    table("attempts by service", &columns, rows)
}

fn controls(run: &Simulation) -> El {
    let rows = run.controls.iter().map(|c| {
        let refused = if c.refused == 0 { "never".to_owned() } else { format::count(c.refused) };
        vec![name_cell(&c.place), cell(c.key.clone()), cell(c.name.clone()), cell(refused)]
    });
    table("refusals by control", &["control of", "key", "control", "refused"], rows)
}

/// In the order that was given, then what it did not mention.
pub(crate) fn ordered<'a, T>(
    order: &'a [String],
    map: &'a BTreeMap<String, T>,
) -> Vec<(&'a str, &'a T)> {
    let mut listed: Vec<(&str, &T)> = Vec::with_capacity(map.len());
    let entries = order.iter().filter_map(|name| map.get_key_value(name)).chain(map);
    for (name, value) in entries {
        if !listed.iter().any(|(seen, _)| seen == name) {
            listed.push((name, value));
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_importance_then_the_rest_and_each_once() {
        let map: BTreeMap<String, u8> =
            [("a", 1), ("b", 2), ("c", 3)].map(|(k, v)| (k.to_owned(), v)).into();
        let order = ["c", "ghost", "c", "a"].map(str::to_owned);
        let names: Vec<&str> = ordered(&order, &map).into_iter().map(|(n, _)| n).collect();
        assert_eq!(names, ["c", "a", "b"]);
    }

    #[test]
    fn requests_by_class() {
        let mut run = Simulation::default();
        run.classes.insert(
            "high".into(),
            ClassResult {
                offered: 16_200,
                good: 81,
                timed_out: 16_000,
                rejection: 0.995,
                rejection_ci95: [0.99, 0.999],
                latency_p50_s: 0.1,
                latency_p99_s: f64::NAN,
                ..ClassResult::default()
            },
        );
        insta::assert_snapshot!(classes(&run).to_markup().replace("><", ">\n<"));
    }
}

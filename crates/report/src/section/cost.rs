//! What capacity costs: now, for the load alone, and so much that the load heals by itself, as the
//! system is and with each change.

use super::{cell, name_cell, section, table};
use crate::format;
use crate::html::El;
use crate::result::{Cost, Headroom, Provisioned, Remedy};
use crate::svg::rows::{Row, Rows};

/// The part; nothing if no cost was given.
pub(crate) fn part(result: &Headroom) -> Option<El> {
    let cost = result.cost.as_ref()?;
    let part = section("cost", "What it costs to run stable")
        .child(lead(result, cost))
        .child(bars(result, cost));
    Some(match numbers(result, cost) {
        Some(numbers) => part.child(numbers),
        None => part,
    })
}

fn lead(result: &Headroom, cost: &Cost) -> El {
    let given =
        format!("At {} for 1/s of capacity, or {}", cost.given, cost.money(cost.per_rps_hour));
    let given = if cost.given.contains(" for ") { format!("At {}", cost.given) } else { given };
    let price = match (&cost.stable, cost.headroom_per_hour.and_then(format::measured)) {
        (Some(stable), Some(headroom)) => format!(
            "so much capacity that {} heals by itself is {} what there is. The price of headroom, beyond \
             what the load takes, is {}: {} in a month of 730 hours.",
            format::rate(result.load_rps),
            format::times(stable.scale),
            cost.money(headroom),
            cost.amount(headroom.max(0.0) * HOURS_OF_A_MONTH),
        ),
        _ => "running stable has no cost: it heals at no load that was tried.".to_owned(),
    };
    El::new("p").class("lead").text(format!("{given}: {price}"))
}

/// 365 days in twelve.
const HOURS_OF_A_MONTH: f64 = 730.0;

/// What is compared, with its capacity and its cost per hour.
struct Line {
    name: String,
    capacity: Option<f64>,
    per_hour: f64,
    /// The cost is this much or less.
    at_most: bool,
}

fn lines(result: &Headroom, cost: &Cost) -> Vec<Line> {
    let line = |name: &str, capacity, per_hour| Line {
        name: name.to_owned(),
        capacity,
        per_hour,
        at_most: false,
    };
    let mut lines = vec![
        line("serving the load, and nothing more", Some(result.load_rps), cost.serving_per_hour),
        line("now", result.advertised_rps, cost.now_per_hour),
    ];
    if let Some(stable) = &cost.stable {
        lines.push(line("stable, as it is", Some(stable.capacity_rps), stable.per_hour));
    }
    lines.extend(priced(result).map(|(remedy, with)| Line {
        name: format!("stable with {}", remedy.name),
        capacity: Some(with.capacity_rps),
        per_hour: with.per_hour,
        at_most: remedy.at_least,
    }));
    lines
}

fn priced(result: &Headroom) -> impl Iterator<Item = (&Remedy, &Provisioned)> {
    result.remedies.iter().filter_map(|remedy| Some((remedy, remedy.cost.as_ref()?)))
}

fn bars(result: &Headroom, cost: &Cost) -> El {
    let lines = lines(result, cost);
    let most = lines.iter().filter_map(|l| format::measured(l.per_hour)).fold(0.0, f64::max);
    let share = |per_hour: f64| if most > 0.0 { per_hour / most } else { 0.0 };
    let money = |line: &Line| {
        let least = if line.at_most { "≤\u{a0}" } else { "" };
        format!("{least}{}", cost.money(line.per_hour))
    };
    let says: Vec<String> = lines.iter().map(|l| format!("{}: {}", l.name, money(l))).collect();
    let rows = lines.iter().map(|line| Row {
        name: line.name.clone(),
        fraction: share(line.per_hour),
        text: match line.capacity {
            Some(capacity) => format!("{} for {}", money(line), format::rate(capacity)),
            None => money(line),
        },
        before: Some(share(cost.now_per_hour)),
    });
    Rows {
        id: "cost-bars",
        title: "Cost of capacity per hour".to_owned(),
        aside: "the mark is what there is now".to_owned(),
        description: says.join("; "),
        rows: rows.collect(),
    }
    .draw()
}

/// Intervals and savings; nothing if nothing is known of running stable.
fn numbers(result: &Headroom, cost: &Cost) -> Option<El> {
    let stable = cost.stable.as_ref()?;
    let row = |name: &str, with: &Provisioned, at_most: bool| {
        let least = if at_most { "≤\u{a0}" } else { "" };
        vec![
            name_cell(name),
            cell(format!("{least}{}", format::rate(with.capacity_rps))),
            cell(format!("{least}{}", cost.money(with.per_hour))),
            cell(match format::ordered(Some(with.per_hour_ci95)) {
                Some([low, high]) => format!("{}–{}", Cost::number(low), Cost::number(high)),
                None => format::NONE.to_owned(),
            }),
            cell(with.saved_per_hour.map_or_else(String::new, |saved| cost.money(saved))),
        ]
    };
    let first = row("as it is", stable, false);
    let rest = priced(result).map(|(remedy, with)| row(&remedy.name, with, remedy.at_least));
    let columns = ["stable", "capacity", "cost", "95 % interval", "saves"];
    Some(table("cost", &columns, [first].into_iter().chain(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provisioned(per_hour: f64, saved: Option<f64>) -> Provisioned {
        Provisioned {
            scale: per_hour / 15.0,
            capacity_rps: per_hour * 20.0,
            per_hour,
            per_hour_ci95: [per_hour - 1.0, per_hour + 1.0],
            saved_per_hour: saved,
        }
    }

    fn result() -> Headroom {
        Headroom {
            load_rps: 270.0,
            advertised_rps: Some(300.0),
            remedies: vec![
                Remedy {
                    name: "a budget".into(),
                    at_least: true,
                    cost: Some(provisioned(15.0, Some(12.0))),
                    ..Remedy::default()
                },
                Remedy { name: "nothing known".into(), ..Remedy::default() },
            ],
            cost: Some(Cost {
                given: "0.05 EUR/h".into(),
                currency: "EUR".into(),
                per_rps_hour: 0.05,
                now_per_hour: 15.0,
                serving_per_hour: 13.5,
                stable: Some(provisioned(27.0, None)),
                headroom_per_hour: Some(13.5),
            }),
            ..Headroom::default()
        }
    }

    #[test]
    fn costs_are_drawn_and_told() {
        let markup = part(&result()).unwrap().to_markup();
        for words in [
            "heals by itself is 1.8× what there is",
            "13.50 EUR/h: 9,855 EUR in a month",
            "stable with a budget",
            "≤\u{a0}15.00 EUR/h for 300/s",
            "26.00–28.00",
            "12.00 EUR/h",
        ] {
            assert!(markup.contains(words), "{words}: {markup}");
        }
        // Half of 27 is the load's, and the mark is at 15 of 27.
        assert!(markup.contains("width=\"50%\"") && markup.contains("x1=\"55.56%\""), "{markup}");
        assert!(!markup.contains("nothing known"));
    }

    #[test]
    fn what_is_not_known_has_no_cost() {
        assert!(part(&Headroom::default()).is_none());
        let mut unknown = result();
        unknown.remedies.clear();
        if let Some(cost) = &mut unknown.cost {
            (cost.stable, cost.headroom_per_hour) = (None, None);
            cost.now_per_hour = f64::NAN;
        }
        let markup = part(&unknown).unwrap().to_markup();
        assert!(markup.contains("it heals at no load that was tried"), "{markup}");
        assert!(!markup.contains("NaN") && !markup.contains("<table"), "{markup}");
    }
}

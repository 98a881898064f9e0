//! The capacity bar: where the system heals by itself, where it does not, where it runs.

use super::{cell, name_cell, section, table};
use crate::format;
use crate::html::El;
use crate::result::Headroom;
use crate::svg::Figure;
use crate::svg::band::{Band, BandChart, Mark};
use crate::svg::scale::Scale;

/// The part; nothing if no number is known.
pub(crate) fn part(result: &Headroom) -> Option<El> {
    let load = format::measured(result.load_rps).filter(|v| *v >= 0.0);
    let positive = |v: Option<f64>| v.and_then(format::measured).filter(|v| *v >= 0.0);
    let (advertised, hidden) = (positive(result.advertised_rps), positive(result.hidden_rps));
    let most = [load, advertised, hidden].into_iter().flatten().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let scale = Scale::linear(0.0, most * 1.1);
    let chart = BandChart {
        scale,
        bands: bands(advertised, hidden, scale.high()),
        marks: marks(result, load, advertised, hidden),
        print_axis: format::rate,
    };
    let figure = Figure {
        id: "capacity-bar",
        title: "Capacity".to_owned(),
        aside: "requests per second".to_owned(),
        description: describe(&chart.marks),
        legend: Some(legend(&chart.bands)),
        explore: "marks",
        data: None,
        table: Some(numbers(result)),
    };
    let drawing = figure.frame("wide-bar", chart.height_px(), chart.draw());
    Some(section("capacity", "How much load it survives").child(drawing))
}

fn bands(advertised: Option<f64>, hidden: Option<f64>, end: f64) -> Vec<Band> {
    let limit = advertised.unwrap_or(end);
    let heals = hidden.unwrap_or(limit).min(limit);
    vec![
        Band { from: 0.0, to: heals, name: "stable" },
        Band { from: heals, to: limit, name: "vulnerable" },
        Band { from: limit, to: end, name: "overloaded" },
    ]
    .into_iter()
    .filter(|band| band.to > band.from)
    .collect()
}

fn marks(
    result: &Headroom,
    load: Option<f64>,
    advertised: Option<f64>,
    hidden: Option<f64>,
) -> Vec<Mark> {
    let mark = |class: &'static str, at: Option<f64>, interval: Option<[f64; 2]>| {
        let at = at?;
        let more = format::interval(interval, format::number)
            .map_or_else(String::new, |interval| format!(" ({interval})"));
        let text = format!("{class} {}", format::rate(at));
        Some(Mark { at, interval, class, text, more })
    };
    [
        mark("hidden", hidden, result.hidden_ci95),
        mark("advertised", advertised, result.advertised_ci95),
        mark("load", load, None),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn describe(marks: &[Mark]) -> String {
    let values: Vec<String> = marks.iter().map(|m| format!("{}{}", m.text, m.more)).collect();
    format!("A bar from zero, divided into bands of load. Marked: {}.", values.join("; "))
}

fn legend(bands: &[Band]) -> El {
    let items = bands.iter().map(|band| {
        let meaning = match band.name {
            "stable" => "stable: heals by itself",
            "vulnerable" => "vulnerable: serves well until a trigger, then stays down",
            _ => "overloaded: cannot serve it",
        };
        let swatch = El::new("svg")
            .attr("width", "16")
            .attr("height", "12")
            .attr("aria-hidden", "true")
            .child(
                El::new("rect")
                    .attr("width", "16")
                    .attr("height", "12")
                    .class(format!("band {}", band.name)),
            )
            .child(
                El::new("rect")
                    .attr("width", "16")
                    .attr("height", "12")
                    .class("hatch")
                    .attr("fill", format!("url(#hatch-{})", band.name)),
            );
        El::new("li").child(swatch).text(meaning)
    });
    El::new("ul").class("legend").children(items)
}

fn numbers(result: &Headroom) -> El {
    let row = |name: &str, value: Option<f64>, interval| {
        vec![
            name_cell(name),
            cell(format::rate_or_none(value)),
            cell(
                format::interval(interval, format::number)
                    .unwrap_or_else(|| format::NONE.to_owned()),
            ),
        ]
    };
    table(
        "capacity",
        &["", "value", "95 % interval"],
        [
            row("hidden", result.hidden_rps, result.hidden_ci95),
            row("advertised", result.advertised_rps, result.advertised_ci95),
            row("load", Some(result.load_rps), None),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bands: &[Band]) -> Vec<(&str, f64, f64)> {
        bands.iter().map(|b| (b.name, b.from, b.to)).collect()
    }

    #[test]
    fn bands_for_every_combination_of_what_is_known() {
        assert_eq!(
            names(&bands(Some(300.0), Some(150.0), 330.0)),
            [("stable", 0.0, 150.0), ("vulnerable", 150.0, 300.0), ("overloaded", 300.0, 330.0)]
        );
        assert_eq!(
            names(&bands(Some(300.0), None, 330.0)),
            [("stable", 0.0, 300.0), ("overloaded", 300.0, 330.0)]
        );
        // Noise can put the estimate of hidden above advertised.
        assert_eq!(names(&bands(Some(300.0), Some(301.0), 330.0)).len(), 2);
        assert_eq!(names(&bands(None, None, 330.0)), [("stable", 0.0, 330.0)]);
    }

    #[test]
    fn without_any_number_there_is_no_bar() {
        assert!(part(&Headroom { load_rps: f64::NAN, ..Headroom::default() }).is_none());
        assert!(part(&Headroom::default()).is_none());
    }
}

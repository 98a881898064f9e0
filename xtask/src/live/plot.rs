//! Charts of the live run.

use super::{FORMS, LIMITS, LOADS, Outcome};
use crate::plot::{Axis, COLOURS, Chart, Mark, Series};

/// All files: name and text.
pub(super) fn all(results: &[Outcome]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (form, stem) in FORMS.iter().zip(["trees", "routes"]) {
        for limits in LIMITS {
            let [high, low] = limits;
            let of = of(results, form.name, limits);
            let title = format!("Rejection, {}, k = ({high}, {low})", form.name);
            let drawn = chart(title, "share of requests rejected", 0.8, 0.2, rejection(&of));
            files.push((format!("live-hotel-{stem}-{high}{low}.svg"), drawn));
        }
        let series = LIMITS.iter().zip([COLOURS[0], COLOURS[1]]).flat_map(|(limits, colour)| {
            let [high, low] = limits;
            let of = of(results, form.name, *limits);
            let name = format!("k = ({high}, {low})");
            calls(&of, &name, colour)
        });
        let title = format!("Internal calls per request, {}", form.name);
        let drawn = chart(title, "calls per request", 8.0, 2.0, series.collect());
        files.push((format!("live-hotel-{stem}-calls.svg"), drawn));
    }
    files
}

fn of<'a>(results: &'a [Outcome], form: &str, limits: [u32; 2]) -> Vec<&'a Outcome> {
    let fits =
        |r: &&Outcome| r.point.form.name == form && r.point.limits == limits && !r.point.immediate;
    results.iter().filter(fits).collect()
}

fn rejection(of: &[&Outcome]) -> Vec<Series> {
    let mut series = Vec::new();
    for (class, (name, colour)) in
        [("high", COLOURS[0]), ("low", COLOURS[1])].into_iter().enumerate()
    {
        let mut add = |what: &str, mark, y: &dyn Fn(&Outcome) -> (f64, Option<f64>)| {
            series.push(line(format!("{name}: {what}"), colour, mark, of, y));
        };
        add("predicted", Mark::Line, &|r| (r.tree.rejection[class], None));
        add("simulated", Mark::Cross, &|r| (r.simulated.rejection[class].mean, None));
        add("live", Mark::Dot, &|r| (r.rejection(class).mean, Some(r.rejection(class).half)));
    }
    series
}

fn calls(of: &[&Outcome], name: &str, colour: &'static str) -> Vec<Series> {
    let mut series = Vec::new();
    let mut add = |what: &str, mark, y: &dyn Fn(&Outcome) -> (f64, Option<f64>)| {
        series.push(line(format!("{name}: {what}"), colour, mark, of, y));
    };
    add("call trees", Mark::Line, &|r| (r.tree.calls, None));
    add("chain", Mark::Dashed, &|r| (r.chain.calls, None));
    add("live", Mark::Dot, &|r| (r.calls().mean, Some(r.calls().half)));
    series
}

/// A value, and half of its interval where it has one, over the load of the low class.
fn line(
    name: String,
    colour: &'static str,
    mark: Mark,
    of: &[&Outcome],
    y: &dyn Fn(&Outcome) -> (f64, Option<f64>),
) -> Series {
    Series {
        name,
        colour,
        mark,
        points: of.iter().map(|r| (f64::from(r.point.low), y(r).0)).collect(),
        halves: of.iter().filter_map(|r| y(r).1).collect(),
    }
}

/// Loads of the low class across, from zero upwards.
fn chart(title: String, name: &str, top: f64, step: f64, series: Vec<Series>) -> String {
    let (from, to) = (f64::from(LOADS[0]), f64::from(LOADS[LOADS.len() - 1]));
    let margin = (to - from) * 0.04;
    let x = Axis {
        name: "low requests per second, beside 50/s of high".to_owned(),
        from: from - margin,
        to: to + margin,
        ticks: LOADS.map(f64::from).to_vec(),
        log: false,
        print: |load| format!("{load:.0}"),
    };
    let steps = (top / step).round() as u32;
    let y = Axis {
        name: name.to_owned(),
        from: 0.0,
        to: top,
        ticks: (0..=steps).map(|i| f64::from(i) * step).collect(),
        log: false,
        print: if step < 1.0 {
            |value| format!("{value:.1}")
        } else {
            |value| format!("{value:.0}")
        },
    };
    Chart { title, x, y, series }.draw()
}

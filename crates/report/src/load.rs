//! The page of `damper load`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::load::{LatencyCurve, Load, LoadClass, LoadSeries};
use crate::section::facts::{self, Fact};
use crate::section::{cell, name_cell, provenance, section, table, verdict};
use crate::svg::line::{Across, Line, LineChart};

/// One self-contained HTML page that shows what became of a load. Accepts any value, as
/// [`headroom_html`](crate::headroom_html) does.
pub fn load_html(result: &Load) -> String {
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(result.origin.partial));
    parts.push(head(result));
    parts.extend(timeline(&result.series));
    parts.push(latency(result));
    parts.push(ends(result));
    let how = [
        ("owner", result.owner.clone().unwrap_or_else(|| format::NONE.to_owned())),
        ("spoken", result.protocol.clone()),
        ("arrivals", result.arrivals.clone()),
        ("callers", result.callers.clone()),
        ("measured", format::seconds(result.seconds)),
        ("sent late, p99", format::seconds(result.late_p99_ms / 1e3)),
    ];
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Load", &result.origin.system), parts)
}

fn sentence(result: &Load) -> String {
    let total = &result.total;
    let asked = format::rate(result.rate_rps);
    let good = facts::share(count(total, "ok"), total.requests);
    let mut text = format!("At {asked} it answered {good} of the requests well");
    if let Some(p99) = total.good_ms.get(2).copied().and_then(format::measured) {
        text.push_str(&format!(", 99\u{a0}% of these within {}", format::seconds(p99 / 1e3)));
    }
    text.push('.');
    text
}

fn head(result: &Load) -> El {
    let total = &result.total;
    let header = El::new("header")
        .child(verdict::kicker("Load", &result.origin.system))
        .child(El::new("p").class("verdict").text(sentence(result)));
    let time = |at: usize| {
        let ms = total.good_ms.get(at).copied().and_then(format::measured);
        ms.map_or_else(|| format::NONE.to_owned(), |ms| format::seconds(ms / 1e3))
    };
    let mut figures = vec![
        Fact::new("asked for", format::rate(result.rate_rps), result.arrivals.clone()),
        Fact::new("goodput", format::rate(total.goodput_rps), "good replies in time"),
        Fact::new("throughput", format::rate(total.throughput_rps), "replies of any kind"),
        Fact::new("p50", time(0), "of good replies"),
        Fact::new("p99", time(2), "from the intended start"),
    ];
    if total.retries > 0 || result.withheld > 0 {
        let note = match result.withheld {
            0 => format!("{} retries", format::count(total.retries)),
            some => format!("the bounds held back {} retries", format::count(some)),
        };
        let sent = total.requests.saturating_sub(count(total, "not sent")).max(1);
        let each = total.attempts as f64 / sent as f64;
        figures.push(Fact::new("attempts per request", format::number(each), note));
    }
    header.child(facts::row(&figures))
}

fn count(class: &LoadClass, end: &str) -> u64 {
    class.ends.get(end).copied().unwrap_or(0)
}

/// Lines of a chart over time.
fn chart(
    id: &'static str,
    title: &str,
    aside: &str,
    height_px: f64,
    series: &LoadSeries,
    lines: Vec<Line>,
) -> LineChart {
    LineChart {
        id,
        title: title.to_owned(),
        aside: aside.to_owned(),
        description: format!("{title} over the time of the load."),
        height_px,
        t_s: series.t_s.clone(),
        interval_s: series.interval_s,
        across: Across::time(),
        lines,
        seen: Vec::new(),
        trigger_s: None,
        levels: Vec::new(),
        may_be_log: false,
        least_high: 0.0,
        print_axis: format::number,
    }
}

/// Classes of lines for ends that are not good.
const ENDS: [&str; 5] = ["c1", "c2 d1", "c3", "c4 d2", "c5 d3"];

fn timeline(series: &LoadSeries) -> Option<El> {
    // Times must be finite and in order.
    let points = series.t_s.len();
    let sound = series.t_s.iter().all(|t| t.is_finite()) && series.t_s.is_sorted();
    if points == 0 || !sound || !series.interval_s.is_finite() {
        return None;
    }
    let line = |name: &str, class, values: &[f64], filled| Line {
        name: name.to_owned(),
        class,
        values: (0..points).map(|i| values.get(i).copied().and_then(format::measured)).collect(),
        print: format::rate,
        filled,
    };
    let mut lines = vec![
        line("goodput", "goodput", &series.goodput_rps, true),
        line("throughput", "throughput", &series.throughput_rps, false),
        line("offered", "offered", &series.offered_rps, false),
    ];
    if series.attempts_rps != series.offered_rps {
        lines.insert(2, line("attempts", "attempts", &series.attempts_rps, false));
    }
    let per_second = "per second";
    let part = section("timeline", "What happened over time")
        .child(chart("rates", "Requests", per_second, 230.0, series, lines).draw());
    let bad = series.ends_rps.iter().filter(|(_, rates)| rates.iter().any(|rate| *rate > 0.0));
    let bad: Vec<Line> =
        bad.zip(ENDS).map(|((name, rates), class)| line(name, class, rates, false)).collect();
    if bad.is_empty() {
        return Some(part);
    }
    let title = "Ends that were not good";
    Some(part.child(chart("bad", title, per_second, 130.0, series, bad).draw()))
}

/// How far a quantile is out: 0 is nothing, 1 is 90 %, 2 is 99 %.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// `99.9 %` of 3.
fn percentile(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-nines));
    let digits = (nines.ceil() as usize).saturating_sub(2).min(6);
    format!("{percent:.digits$}\u{a0}%")
}

/// Steps of the curve within a factor of ten.
const STEPS: u32 = 40;

/// A curve at even steps, from its pairs.
fn at_steps(curve: &LatencyCurve, steps: &[f64]) -> Vec<Option<f64>> {
    let known: Vec<(f64, f64)> = curve
        .points
        .iter()
        .filter(|[q, ms]| (0.0..1.0).contains(q) && ms.is_finite())
        .map(|[q, ms]| (nines(*q), ms / 1e3))
        .collect();
    let last = known.last().map_or(f64::NEG_INFINITY, |(n, _)| *n);
    let value = |at: &f64| {
        let after = known.iter().find(|(n, _)| *n >= at - 1e-9);
        after.filter(|_| *at <= last + 1e-9).map(|(_, seconds)| *seconds)
    };
    steps.iter().map(value).collect()
}

fn latency(result: &Load) -> El {
    let part = section("latency", "Latency from the intended start");
    let ends = result.curves.iter().flat_map(|c| c.points.iter().map(|[q, _]| nines(*q)));
    let last = ends.filter(|n| n.is_finite()).fold(0.0, f64::max).min(9.0);
    let steps: Vec<f64> = (0..=(last * f64::from(STEPS)).floor() as u32)
        .map(|i| f64::from(i) / f64::from(STEPS))
        .collect();
    let classes = ["goodput", "attempts", "c2", "c3"];
    let lines = result.curves.iter().zip(classes).map(|(curve, class)| Line {
        name: curve.name.clone(),
        class,
        values: at_steps(curve, &steps),
        print: format::seconds,
        filled: false,
    });
    let lines: Vec<Line> = lines.collect();
    let rows = result.classes.iter().chain((result.classes.len() > 1).then_some(&result.total));
    let rows = rows.flat_map(|class| {
        let row = |what: &str, ms: &[f64]| {
            let mut row = vec![name_cell(&format!("{}, {what}", class.name))];
            row.extend((0..5).map(|at| {
                let time = ms.get(at).copied().and_then(format::measured);
                let text = time.map(|ms| format::seconds(ms / 1e3));
                cell(text.unwrap_or_else(|| format::NONE.to_owned()))
            }));
            row
        };
        [row("good", &class.good_ms), row("all sent", &class.sent_ms)]
    });
    let columns = ["", "p50", "p90", "p99", "p99.9", "longest"];
    let table = table("latencies", &columns, rows);
    if steps.len() < 2 {
        return part.child(table);
    }
    let figure = LineChart {
        id: "percentiles",
        title: "Percentiles".to_owned(),
        aside: "so many had their reply within".to_owned(),
        description: "Latency over the share of requests that had their reply by then, with ten \
                      times as much room for each further nine."
            .to_owned(),
        height_px: 230.0,
        t_s: steps,
        interval_s: 0.0,
        across: Across { name: "percentile".to_owned(), print: percentile },
        lines,
        seen: Vec::new(),
        trigger_s: None,
        levels: Vec::new(),
        may_be_log: true,
        least_high: 0.0,
        print_axis: format::seconds_on_axis,
    };
    part.child(figure.draw()).child(table)
}

fn ends(result: &Load) -> El {
    const COLUMNS: [&str; 6] = ["ok", "rejected", "failed", "timed out", "connection", "not sent"];
    let rows = || result.classes.iter().chain((result.classes.len() > 1).then_some(&result.total));
    let requests = rows().map(|class| {
        let mut row = vec![name_cell(&class.name), cell(format::count(class.requests))];
        row.extend(COLUMNS.map(|end| cell(format::count(count(class, end)))));
        row.push(cell(format::rate(class.goodput_rps)));
        row.push(cell(format::rate(class.throughput_rps)));
        row
    });
    let mut columns = vec!["class", "requests"];
    columns.extend(COLUMNS);
    columns.extend(["goodput", "throughput"]);
    let part =
        section("ends", "How requests ended").child(table("requests by class", &columns, requests));
    let all: Vec<&String> = result.total.attempt_ends.keys().collect();
    if all.is_empty() || (result.total.retries == 0 && result.withheld == 0) {
        return part;
    }
    let attempts = rows().map(|class| {
        let mut row = vec![name_cell(&class.name), cell(format::count(class.attempts))];
        row.push(cell(format::count(class.retries)));
        let of = |end: &&String| class.attempt_ends.get(*end).copied().unwrap_or(0);
        row.extend(all.iter().map(|end| cell(format::count(of(end)))));
        row
    });
    let mut columns = vec!["class", "attempts", "retries"];
    columns.extend(all.iter().map(|end| end.as_str()));
    part.child(table("attempts by class", &columns, attempts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Load {
        let ends = [("ok".to_owned(), 90), ("rejected".to_owned(), 10)];
        let total = LoadClass {
            name: "<b>all</b>".into(),
            requests: 100,
            ends: ends.into_iter().collect(),
            good_ms: vec![1.0, 2.0, 30.0, 31.0, 40.0],
            ..LoadClass::default()
        };
        let curve = LatencyCurve {
            name: "good".into(),
            points: vec![[0.0, 1.0], [0.5, 1.0], [0.9, 2.0], [0.99, 30.0], [f64::NAN, 1.0]],
        };
        let series = LoadSeries {
            t_s: vec![0.5, 1.5],
            interval_s: 1.0,
            goodput_rps: vec![45.0, f64::NAN],
            ends_rps: [("rejected".to_owned(), vec![5.0, 5.0])].into_iter().collect(),
            ..LoadSeries::default()
        };
        let classes = vec![total.clone()];
        Load { rate_rps: 50.0, total, classes, curves: vec![curve], series, ..Load::default() }
    }

    #[test]
    fn a_page_of_anything() {
        let page = load_html(&sample());
        assert!(page.contains("answered 90") && page.contains("within 30"), "{page}");
        assert!(!page.contains("<b>all") && !page.contains("NaN"));
        assert!(page.contains("Ends that were not good"));
        let mut odd = sample();
        odd.series.t_s = vec![f64::NAN, 1.0];
        odd.classes.clear();
        assert!(!load_html(&odd).contains("NaN"));
        assert!(load_html(&Load::default()).contains("Load"));
    }

    #[test]
    fn each_nine_has_the_same_room() {
        assert!((nines(0.9) - 1.0).abs() < 1e-9 && (nines(0.999) - 3.0).abs() < 1e-9);
        assert_eq!(percentile(0.0), "0\u{a0}%");
        assert_eq!([1.0, 2.0, 3.0].map(percentile), ["90\u{a0}%", "99\u{a0}%", "99.9\u{a0}%"]);
        let sample = sample();
        let values = at_steps(&sample.curves[0], &[0.0, 1.0, 1.5, 2.0, 2.5]);
        assert_eq!(values, [Some(0.001), Some(0.002), Some(0.03), Some(0.03), None]);
    }
}

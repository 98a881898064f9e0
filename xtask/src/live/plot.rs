//! Charts of the live run as SVG files, readable on light and dark pages.

use std::fmt::Write as _;

use super::{FORMS, LIMITS, LOADS, Outcome};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 74.0;

/// What a series is drawn as.
#[derive(Clone, Copy)]
enum Mark {
    Line,
    Dashed,
    /// Dots with their intervals.
    Dot,
    Cross,
}

struct Series {
    name: String,
    colour: &'static str,
    mark: Mark,
    /// x, y, half of the interval.
    points: Vec<(f64, f64, f64)>,
}

struct Chart {
    title: String,
    y_name: &'static str,
    top: f64,
    step: f64,
    series: Vec<Series>,
}

/// Colours that differ in brightness, too.
const HIGH: &str = "#1f6fb4";
const LOW: &str = "#c4541a";

/// All files: name and text.
pub(super) fn all(results: &[Outcome]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (form, stem) in FORMS.iter().zip(["trees", "routes"]) {
        for limits in LIMITS {
            let [high, low] = limits;
            let of = of(results, form.name, limits);
            let chart = Chart {
                title: format!("Rejection, {}, k = ({high}, {low})", form.name),
                y_name: "share of requests rejected",
                top: 0.8,
                step: 0.2,
                series: rejection(&of),
            };
            files.push((format!("live-hotel-{stem}-{high}{low}.svg"), draw(&chart)));
        }
        let series = LIMITS.iter().zip([HIGH, LOW]).flat_map(|(limits, colour)| {
            let [high, low] = limits;
            let of = of(results, form.name, *limits);
            let name = format!("k = ({high}, {low})");
            calls(&of, &name, colour)
        });
        let chart = Chart {
            title: format!("Internal calls per request, {}", form.name),
            y_name: "calls per request",
            top: 8.0,
            step: 2.0,
            series: series.collect(),
        };
        files.push((format!("live-hotel-{stem}-calls.svg"), draw(&chart)));
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
    for (class, (name, colour)) in [("high", HIGH), ("low", LOW)].into_iter().enumerate() {
        let at = |y: &dyn Fn(&Outcome) -> (f64, f64)| {
            of.iter().map(|r| (f64::from(r.point.low), y(r).0, y(r).1)).collect()
        };
        series.push(Series {
            name: format!("{name}: predicted"),
            colour,
            mark: Mark::Line,
            points: at(&|r| (r.tree.rejection[class], 0.0)),
        });
        series.push(Series {
            name: format!("{name}: simulated"),
            colour,
            mark: Mark::Cross,
            points: at(&|r| (r.simulated.rejection[class].mean, 0.0)),
        });
        series.push(Series {
            name: format!("{name}: live"),
            colour,
            mark: Mark::Dot,
            points: at(&|r| (r.rejection(class).mean, r.rejection(class).half)),
        });
    }
    series
}

fn calls(of: &[&Outcome], name: &str, colour: &'static str) -> Vec<Series> {
    let x = |r: &Outcome| f64::from(r.point.low);
    let line =
        |what: &str, mark, points| Series { name: format!("{name}: {what}"), colour, mark, points };
    vec![
        line("call trees", Mark::Line, of.iter().map(|r| (x(r), r.tree.calls, 0.0)).collect()),
        line("chain", Mark::Dashed, of.iter().map(|r| (x(r), r.chain.calls, 0.0)).collect()),
        line(
            "live",
            Mark::Dot,
            of.iter().map(|r| (x(r), r.calls().mean, r.calls().half)).collect(),
        ),
    ]
}

fn draw(chart: &Chart) -> String {
    let (from, to) = (f64::from(LOADS[0]), f64::from(LOADS[LOADS.len() - 1]));
    let margin = (to - from) * 0.04;
    let x = |value: f64| {
        LEFT + (value - from + margin) / (to - from + 2.0 * margin) * (WIDTH - LEFT - RIGHT)
    };
    let y = |value: f64| {
        HEIGHT - BOTTOM - (value / chart.top).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\">\n<title>{0}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"600\" fill=\"#1a1a1a\">{0}</text>\n\
         <text x=\"{LEFT}\" y=\"36\" fill=\"#555\">{1}</text>\n",
        chart.title, chart.y_name
    );
    let steps = (chart.top / chart.step).round() as u32;
    for i in 0..=steps {
        let value = f64::from(i) * chart.step;
        let (at, end) = (y(value), WIDTH - RIGHT);
        let label = if chart.step < 1.0 { format!("{value:.1}") } else { format!("{value:.0}") };
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{end}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for load in LOADS {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{load}</text>",
            x(f64::from(load)),
            HEIGHT - BOTTOM + 16.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">low requests per second, beside 50/s of high</text>",
        WIDTH - RIGHT,
        HEIGHT - BOTTOM + 32.0
    );
    for series in &chart.series {
        mark(&mut svg, series, &x, &y);
    }
    legend(&mut svg, &chart.series);
    svg.push_str("</svg>\n");
    svg
}

fn mark(svg: &mut String, series: &Series, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) {
    let colour = series.colour;
    match series.mark {
        Mark::Line | Mark::Dashed => {
            let dash =
                if matches!(series.mark, Mark::Dashed) { " stroke-dasharray=\"5 4\"" } else { "" };
            let points: Vec<String> =
                series.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{dash}/>",
                points.join(" ")
            );
        }
        Mark::Dot => {
            for (at, value, half) in &series.points {
                let (cx, cy) = (x(*at), y(*value));
                let half = if half.is_finite() { *half } else { 0.0 };
                let _ = writeln!(
                    svg,
                    "<line x1=\"{cx:.1}\" y1=\"{:.1}\" x2=\"{cx:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>\
                     <circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"{colour}\"/>",
                    y(value + half),
                    y(value - half)
                );
            }
        }
        Mark::Cross => {
            for (at, value, _) in &series.points {
                let (cx, cy) = (x(*at), y(*value));
                let _ = writeln!(
                    svg,
                    "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{colour}\" stroke-width=\"1.4\" fill=\"none\"/>",
                    cx - 4.0,
                    cy - 4.0
                );
            }
        }
    }
}

fn legend(svg: &mut String, series: &[Series]) {
    let columns = 3;
    for (i, one) in series.iter().enumerate() {
        let at = LEFT + (i % columns) as f64 * 190.0;
        let line = HEIGHT - 24.0 + (i / columns) as f64 * 16.0;
        let sample = Series {
            name: String::new(),
            colour: one.colour,
            mark: one.mark,
            points: match one.mark {
                Mark::Line | Mark::Dashed => vec![(at, line, 0.0), (at + 20.0, line, 0.0)],
                _ => vec![(at + 10.0, line, 0.0)],
            },
        };
        mark(svg, &sample, &|x| x, &|y| y);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#333\">{}</text>",
            at + 26.0,
            line + 4.0,
            one.name
        );
    }
}

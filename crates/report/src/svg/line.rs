//! Lines over time or over a swept value, with a shaded trigger, reference levels, and measured
//! points.

use super::axis::{self, Area};
use super::{Figure, SPACE, block, label, pct, px, scale::Scale, segment, tip};
use crate::format;
use crate::html::El;
use crate::thin::{self, Point};

mod numbers;

/// One line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Class that gives colour, dash and width: `offered`, `attempts`, …
    pub(crate) class: &'static str,
    /// Same length as the times.
    pub(crate) values: Vec<Option<f64>>,
    pub(crate) print: fn(f64) -> String,
    /// Whether the area under it is filled.
    pub(crate) filled: bool,
}

/// A level to compare with.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) at: f64,
    pub(crate) name: String,
}

/// A measured value beside the lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) t: f64,
    pub(crate) value: f64,
    /// Its 95 % interval.
    pub(crate) interval: Option<[f64; 2]>,
    /// Class of the line that it belongs to.
    pub(crate) class: &'static str,
}

/// What the lines run over.
#[derive(Clone, Debug)]
pub(crate) struct Across {
    /// Over the first column of the table.
    pub(crate) name: String,
    pub(crate) print: fn(f64) -> String,
}

impl Across {
    pub(crate) fn time() -> Self {
        Self { name: "time".to_owned(), print: format::moment }
    }
}

/// A chart of lines over time, or over whatever `across` says in place of it.
#[derive(Debug)]
pub(crate) struct LineChart {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) aside: String,
    pub(crate) description: String,
    pub(crate) height_px: f64,
    /// Middle of each point in seconds: finite and in order.
    pub(crate) t_s: Vec<f64>,
    /// Width of a point.
    pub(crate) interval_s: f64,
    pub(crate) across: Across,
    pub(crate) lines: Vec<Line>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) trigger_s: Option<[f64; 2]>,
    pub(crate) levels: Vec<Level>,
    /// Whether a logarithmic axis may be chosen.
    pub(crate) may_be_log: bool,
    /// The vertical axis reaches at least so high, if it is linear.
    pub(crate) least_high: f64,
    pub(crate) print_axis: fn(f64) -> String,
}

impl LineChart {
    pub(crate) fn draw(self) -> El {
        let area = Area { top: 22.0, height: self.height_px };
        let (x, y) = (self.x_scale(), self.y_scale());
        let mut shapes = axis::vertical(y, area, self.print_axis);
        shapes.extend(self.trigger(x, area));
        shapes.push(self.curves(x, y, area));
        shapes.extend(self.levels(y, area));
        shapes.extend(axis::horizontal(x, area, self.across.print));
        shapes.extend(self.seen.iter().flat_map(|seen| measured(seen, x, y, area)));
        shapes.push(segment("0", area.top, "0", area.bottom()).class("cross"));
        let mut aside = self.aside.clone();
        if y.is_log() {
            aside.push_str(if aside.is_empty() { "logarithmic" } else { ", logarithmic" });
        }
        let figure = Figure {
            id: self.id,
            title: self.title.clone(),
            aside,
            description: self.description.clone(),
            legend: (self.lines.len() > 1 || !self.seen.is_empty()).then(|| self.legend()),
            explore: "line",
            data: Some(self.data(x, y, area)),
            table: Some(self.table()),
        };
        figure.frame("axes", area.bottom() + 26.0, shapes)
    }

    fn x_scale(&self) -> Scale {
        let half = self.interval_s / 2.0;
        let first = self.t_s.first().map_or(0.0, |t| t - half);
        Scale::linear(first, self.t_s.last().map_or(1.0, |t| t + half))
    }

    fn y_scale(&self) -> Scale {
        let ends = |s: &Seen| [s.value].into_iter().chain(s.interval.into_iter().flatten());
        let values = self.lines.iter().flat_map(|l| l.values.iter().flatten().copied());
        let values = values.chain(self.seen.iter().flat_map(ends));
        if self.may_be_log {
            return Scale::fitting(values.chain(self.levels.iter().map(|l| l.at)));
        }
        let high = values.fold(0.0, f64::max);
        // A level far above everything that happened would flatten what did.
        let levels = self.levels.iter().map(|l| l.at).filter(|at| *at <= high * 4.0);
        Scale::from_zero(levels.fold(high, f64::max).max(self.least_high))
    }

    fn trigger(&self, x: Scale, area: Area) -> Vec<El> {
        let Some([from, to]) = format::ordered(self.trigger_s) else {
            return Vec::new();
        };
        if to < x.low() || from > x.high() {
            return Vec::new();
        }
        let (left, right) = (x.fraction(from), x.fraction(to));
        let text = format!("trigger {}–{}", format::number(from), format::moment(to));
        let (at, anchor) = if right > 0.6 { (right, "end") } else { (left, "start") };
        let left_edge = pct(left);
        vec![
            block(left, right, area.top, area.height).class("trigger").child(tip(text.clone())),
            // A short trigger must stay visible on a long axis.
            segment(&left_edge, area.top - 6.0, &left_edge, area.bottom()).class("trigger-edge"),
            label(pct(at), area.top - 9.0, anchor, &text).class("note"),
        ]
    }

    fn curves(&self, x: Scale, y: Scale, area: Area) -> El {
        let mut stretched = El::new("svg")
            .attr("viewBox", format!("0 0 {} {}", px(SPACE), px(area.height)))
            .attr("preserveAspectRatio", "none")
            .attr("y", px(area.top))
            .attr("width", "100%")
            .attr("height", px(area.height))
            .class("stretched")
            .attr("aria-hidden", "true");
        let plot = Area { top: 0.0, height: area.height };
        for line in &self.lines {
            let runs = runs(&self.t_s, &line.values, |t| x.fraction(t) * SPACE, |v| plot.y(y, v));
            if line.filled {
                let d: String = runs.iter().map(|run| closed(run, area.height)).collect();
                stretched.push(El::new("path").class(format!("fill {}", line.class)).attr("d", d));
            }
            let d: String = runs.iter().map(|run| open(run)).collect();
            stretched.push(El::new("path").class(format!("line {}", line.class)).attr("d", d));
        }
        stretched
    }

    fn levels(&self, y: Scale, area: Area) -> Vec<El> {
        let shown = self.levels.iter().filter(|l| l.at >= y.low() && l.at <= y.high());
        shown
            .flat_map(|level| {
                let at = area.y(y, level.at);
                let text_y = if at < area.top + 16.0 { at + 14.0 } else { at - 5.0 };
                // On the side where the lines keep away from it.
                let at_end = self.distance(y, area, at, true) > self.distance(y, area, at, false);
                let (x, dx, anchor) =
                    if at_end { ("100%", "-6", "end") } else { ("0", "6", "start") };
                [
                    segment("0", at, "100%", at).class("level"),
                    label(x, text_y, anchor, &level.name).attr("dx", dx).class("note halo"),
                ]
            })
            .collect()
    }

    /// How near the lines come to a height, in the last or the first third.
    fn distance(&self, y: Scale, area: Area, at: f64, last: bool) -> f64 {
        let third = self.t_s.len() / 3;
        let near = |line: &Line| {
            let (first, end) = if last {
                (line.values.len() - third.min(line.values.len()), line.values.len())
            } else {
                (0, third.min(line.values.len()))
            };
            let values = line.values.get(first..end).unwrap_or_default();
            values
                .iter()
                .flatten()
                .map(|v| (area.y(y, *v) - at).abs())
                .fold(f64::INFINITY, f64::min)
        };
        self.lines.iter().map(near).fold(f64::INFINITY, f64::min)
    }

    fn legend(&self) -> El {
        let items = self.lines.iter().map(|line| {
            let sample = El::new("svg")
                .attr("width", "30")
                .attr("height", "10")
                .attr("aria-hidden", "true")
                .child(El::new("path").class(format!("line {}", line.class)).attr("d", "M1 5H29"));
            El::new("li").child(sample).text(line.name.clone())
        });
        let point = (!self.seen.is_empty()).then(|| {
            let shapes = [
                segment("8", 1.0, "8", 13.0).class("whisker"),
                El::new("circle").attr("cx", "8").attr("cy", "7").attr("r", "3.5").class("seen"),
            ];
            let sample = El::new("svg").attr("width", "16").attr("height", "14");
            let sample = sample.attr("aria-hidden", "true").children(shapes);
            El::new("li").child(sample).text("simulated, 95\u{a0}%")
        });
        El::new("ul").class("legend").children(items).children(point)
    }
}

/// A dot with its interval.
fn measured(seen: &Seen, x: Scale, y: Scale, area: Area) -> Vec<El> {
    let at = pct(x.fraction(seen.t));
    let bar = format::ordered(seen.interval).map(|[low, high]| {
        segment(&at, area.y(y, low), &at, area.y(y, high)).class(format!("whisker {}", seen.class))
    });
    let dot = El::new("circle")
        .attr("cx", at.clone())
        .attr("cy", px(area.y(y, seen.value)))
        .attr("r", "3.5")
        .class(format!("seen {}", seen.class));
    bar.into_iter().chain([dot]).collect()
}

/// Unbroken runs of a line, thinned, in drawing coordinates.
fn runs(
    t_s: &[f64],
    values: &[Option<f64>],
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) -> Vec<Vec<(f64, f64)>> {
    let points: Vec<Point> =
        t_s.iter().zip(values).map(|(t, value)| Point { t: *t, value: *value }).collect();
    let thinned = thin::min_max(&points, DRAW_BUCKETS);
    thinned
        .split(|p| p.value.is_none())
        .filter(|run| !run.is_empty())
        .map(|run| run.iter().filter_map(|p| Some((x(p.t), y(p.value?)))).collect())
        .collect()
}

fn open(run: &[(f64, f64)]) -> String {
    // A lone point gets a stroke of no length: round caps make it a dot.
    let mut path = String::new();
    for (i, (x, y)) in run.iter().enumerate() {
        path.push(if i == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", px(*x), px(*y)));
    }
    if run.len() == 1 { path + "h0" } else { path }
}

fn closed(run: &[(f64, f64)], floor: f64) -> String {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return String::new();
    };
    format!("{}L{} {}L{} {}Z", open(run), px(last.0), px(floor), px(first.0), px(floor))
}

/// Columns into which a line is thinned: about a pixel each on a wide screen.
const DRAW_BUCKETS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<f64>>) -> LineChart {
        let t_s = (0..u32::try_from(values.len()).unwrap()).map(|t| f64::from(t) + 0.5).collect();
        LineChart {
            id: "c",
            title: "Rates".into(),
            aside: "per second".into(),
            description: "d".into(),
            height_px: 100.0,
            t_s,
            interval_s: 1.0,
            across: Across::time(),
            seen: Vec::new(),
            lines: vec![Line {
                name: "goodput".into(),
                class: "goodput",
                values,
                print: format::rate,
                filled: true,
            }],
            trigger_s: Some([1.0, 2.0]),
            levels: vec![Level { at: 90.0, name: "capacity".into() }],
            may_be_log: false,
            least_high: 0.0,
            print_axis: format::number,
        }
    }

    #[test]
    fn small_chart() {
        let markup = chart(vec![Some(80.0), Some(0.0), None, Some(100.0)]).draw().to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }

    #[test]
    fn ten_thousand_points_stay_small() {
        let values = (0..10_000).map(|i| Some(f64::from(i % 97))).collect();
        let markup = chart(values).draw().to_markup();
        assert!(markup.len() < 120_000, "{}", markup.len());
        assert!(!markup.contains("NaN"));
    }

    #[test]
    fn a_measured_point_stands_at_its_place_and_stretches_the_axis() {
        let mut chart = chart(vec![Some(10.0), Some(20.0)]);
        chart.interval_s = 0.0;
        chart.levels = Vec::new();
        // Times are 0.5 and 1.5: the point stands in the middle, at half of the axis to 80.
        chart.seen =
            vec![Seen { t: 1.0, value: 40.0, interval: Some([20.0, 80.0]), class: "goodput" }];
        let markup = chart.draw().to_markup();
        assert!(markup.contains("cx=\"50%\" cy=\"72\" r=\"3.5\""), "{markup}");
        assert!(markup.contains("x1=\"50%\" y1=\"97\" x2=\"50%\" y2=\"22\""), "{markup}");
        assert!(markup.contains("simulated, 95"));
    }

    #[test]
    fn one_point_and_none_at_all() {
        assert!(chart(vec![Some(5.0)]).draw().to_markup().contains("h0"));
        let empty = chart(Vec::new()).draw().to_markup();
        assert!(empty.contains("<svg") && !empty.contains("NaN"));
    }
}

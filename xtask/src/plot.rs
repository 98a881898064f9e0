//! Plots of the studies and of live runs as SVG files, readable on light and dark pages.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 48.0;
const PLOT: f64 = 300.0;
const AXIS: f64 = 44.0;
const LEGEND_LINE: f64 = 17.0;

/// Colours that differ in brightness, too.
pub(crate) const COLOURS: [&str; 6] =
    ["#1f6fb4", "#c4541a", "#5b3a9e", "#11735a", "#8f3a62", "#6b7680"];

/// What a series is drawn as.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    Line,
    Dashed,
    /// A line that steps, horizontally first.
    Stairs,
    /// Dots, with their intervals where there are any.
    Dot,
    Cross,
    /// A large ring with its name beside it, and not in the legend.
    Ring,
}

pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<(f64, f64)>,
    /// Half of the interval of each point; none: there are no intervals.
    pub(crate) halves: Vec<f64>,
}

impl Series {
    /// Without intervals.
    pub(crate) fn new(
        name: impl Into<String>,
        colour: &'static str,
        mark: Mark,
        points: Vec<(f64, f64)>,
    ) -> Self {
        Self { name: name.into(), colour, mark, points, halves: Vec::new() }
    }
}

/// One axis.
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) ticks: Vec<f64>,
    pub(crate) log: bool,
    pub(crate) print: fn(f64) -> String,
}

impl Axis {
    /// From zero to a round number above `high`.
    pub(crate) fn from_zero(name: &str, high: f64, print: fn(f64) -> String) -> Self {
        let step = nice(high / 5.0);
        let steps = (high / step).ceil().max(1.0) as u32;
        let ticks: Vec<f64> = (0..=steps).map(|i| f64::from(i) * step).collect();
        let to = ticks.last().copied().unwrap_or(1.0);
        Self { name: name.to_owned(), from: 0.0, to, ticks, log: false, print }
    }

    fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        share.clamp(0.0, 1.0)
    }
}

/// The nearest of 1, 2, 5 times a power of ten at or above.
fn nice(wish: f64) -> f64 {
    if wish <= 0.0 || !wish.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(wish.log10().floor());
    let digit = wish / power;
    [1.0, 2.0, 5.0].into_iter().find(|n| digit <= n * 1.000_001).unwrap_or(10.0) * power
}

pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

impl Chart {
    pub(crate) fn draw(&self) -> String {
        let named: Vec<&Series> =
            self.series.iter().filter(|s| s.mark != Mark::Ring && !s.name.is_empty()).collect();
        let lines = named.len().div_ceil(2) as f64;
        let height = TOP + PLOT + AXIS + lines * LEGEND_LINE + 8.0;
        let mut svg = open(height, &self.title, &self.y.name);
        let x = |v: f64| LEFT + self.x.at(v) * (WIDTH - LEFT - RIGHT);
        let y = |v: f64| TOP + PLOT - self.y.at(v) * PLOT;
        for tick in &self.y.ticks {
            let at = y(*tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 7.0,
                at + 4.0,
                (self.y.print)(*tick)
            );
        }
        for tick in &self.x.ticks {
            let at = x(*tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{0:.1}\" x2=\"{at:.1}\" y2=\"{1:.1}\" stroke=\"#888\"/>\
                 <text x=\"{at:.1}\" y=\"{2:.1}\" text-anchor=\"middle\" fill=\"#555\">{3}</text>",
                TOP + PLOT,
                TOP + PLOT + 5.0,
                TOP + PLOT + 18.0,
                (self.x.print)(*tick)
            );
        }
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\" stroke=\"#888\"/>\
             <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\" fill=\"#555\">{3}</text>",
            TOP + PLOT,
            WIDTH - RIGHT,
            TOP + PLOT + 35.0,
            escaped(&self.x.name)
        );
        for series in &self.series {
            mark(&mut svg, series, &x, &y);
        }
        labels(&mut svg, &self.series, &x, &y);
        for (i, series) in named.iter().enumerate() {
            let at = LEFT + (i % 2) as f64 * 330.0;
            let line = TOP + PLOT + AXIS + 6.0 + (i / 2) as f64 * LEGEND_LINE;
            let points = match series.mark {
                Mark::Line | Mark::Dashed | Mark::Stairs => vec![(at, line), (at + 22.0, line)],
                _ => vec![(at + 11.0, line)],
            };
            let sample = Series::new("", series.colour, series.mark, points);
            mark(&mut svg, &sample, &|x| x, &|y| y);
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#333\">{}</text>",
                at + 29.0,
                line + 4.0,
                escaped(&series.name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn open(height: f64, title: &str, aside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\">\n<title>{0}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"600\" fill=\"#1a1a1a\">{0}</text>\n\
         <text x=\"{LEFT}\" y=\"37\" fill=\"#555\">{1}</text>\n",
        escaped(title),
        escaped(aside)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn mark(svg: &mut String, series: &Series, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) {
    let colour = series.colour;
    let mut corners: Vec<(f64, f64)> = series.points.iter().map(|p| (x(p.0), y(p.1))).collect();
    let (radius, style) = match series.mark {
        Mark::Line | Mark::Dashed | Mark::Stairs => {
            if series.mark == Mark::Stairs {
                let steps = corners.windows(2).flat_map(|w| [w[0], (w[1].0, w[0].1)]);
                let mut stepped: Vec<(f64, f64)> = steps.collect();
                stepped.extend(corners.last().copied());
                corners = stepped;
            }
            let dash = if series.mark == Mark::Dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let points: Vec<String> =
                corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>",
                points.join(" ")
            );
            return;
        }
        Mark::Cross => {
            for (cx, cy) in corners {
                let _ = writeln!(
                    svg,
                    "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{colour}\" stroke-width=\"1.4\" fill=\"none\"/>",
                    cx - 4.0,
                    cy - 4.0
                );
            }
            return;
        }
        Mark::Dot => (3.4, format!("fill=\"{colour}\" fill-opacity=\"0.8\"")),
        Mark::Ring => (7.0, format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.2\"")),
    };
    let intervals = series.points.iter().zip(&series.halves).filter(|(_, half)| half.is_finite());
    for ((at, value), half) in intervals {
        let _ = writeln!(
            svg,
            "<line x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{0:.1}\" y2=\"{2:.1}\" stroke=\"{colour}\"/>",
            x(*at),
            y(value + half),
            y(value - half)
        );
    }
    for (cx, cy) in corners {
        let _ = writeln!(svg, "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\" {style}/>");
    }
}

/// Names beside rings, each lower than the last where they would lie on each other.
fn labels(svg: &mut String, series: &[Series], x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) {
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for ring in series.iter().filter(|s| s.mark == Mark::Ring) {
        let Some((px, py)) = ring.points.first().map(|p| (x(p.0), y(p.1))) else { continue };
        let width = ring.name.chars().count() as f64 * 6.6;
        let right = px + 13.0 + width < WIDTH;
        let (at, anchor) = if right { (px + 12.0, "start") } else { (px - 12.0, "end") };
        let from = if right { at } else { at - width };
        let mut line = py + 4.0;
        while taken.iter().any(|(tx, ty)| (ty - line).abs() < 14.0 && (tx - from).abs() < 220.0) {
            line += 15.0;
        }
        taken.push((from, line));
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{line:.1}\" text-anchor=\"{anchor}\" font-weight=\"600\" fill=\"{}\" \
             stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            ring.colour,
            escaped(&ring.name)
        );
    }
}

/// A bar with its name and what it says.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) says: String,
    pub(crate) colour: &'static str,
}

/// Horizontal bars from zero.
pub(crate) fn bars(title: &str, aside: &str, bars: &[Bar]) -> String {
    const NAMES: f64 = 290.0;
    let height = TOP + bars.len() as f64 * 24.0 + 12.0;
    let mut svg = open(height, title, aside);
    let most = bars.iter().map(|b| b.value).fold(0.0, f64::max);
    for (i, bar) in bars.iter().enumerate() {
        let top = TOP + i as f64 * 24.0;
        let width = bar.value / most.max(1e-9) * (WIDTH - NAMES - 130.0);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#333\">{}</text>\
             <rect x=\"{NAMES}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"16\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#333\">{}</text>",
            NAMES - 8.0,
            top + 12.5,
            escaped(&bar.name),
            top,
            bar.colour,
            NAMES + width + 7.0,
            top + 12.5,
            escaped(&bar.says)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_drawn_where_there_are_any() {
        let print = |value: f64| format!("{value:.0}");
        let axis = |name| Axis::from_zero(name, 10.0, print);
        let dots = Series::new("dots", COLOURS[0], Mark::Dot, vec![(5.0, 5.0)]);
        let drawn = |halves: Vec<f64>| {
            let series = vec![Series {
                halves,
                ..Series::new("", COLOURS[0], dots.mark, dots.points.clone())
            }];
            Chart { title: "a < b".to_owned(), x: axis("x"), y: axis("y"), series }.draw()
        };
        // In the middle of 300 from 48, and a tenth of 300 to either side.
        let interval = "y1=\"168.0\" x2=\"382.0\" y2=\"228.0\"";
        assert!(drawn(vec![1.0]).contains(interval), "{}", drawn(vec![1.0]));
        let open = drawn(vec![f64::NAN]);
        assert!(!open.contains("NaN") && open == drawn(Vec::new()), "{open}");
        assert!(!open.contains(interval), "{open}");
        assert!(drawn(Vec::new()).contains("a &lt; b"));
    }
}

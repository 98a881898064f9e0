//! What changes over a swept value: rejection, work, and where the system stops healing.

use super::section;
use crate::format;
use crate::html::El;
use crate::result::{Point, Solution, Solve};
use crate::svg::line::{Across, Line, LineChart, Seen};

/// The part; nothing if there is no swept value to draw over.
pub(crate) fn part(result: &Solve) -> Option<El> {
    let swept = result.swept.as_ref()?;
    let grid = Grid::of(result)?;
    let path = format::clip(&swept.path, 40);
    let over = match swept.unit.as_str() {
        "" => format!("over {path}"),
        "/s" => format!("over {path}, per second"),
        unit => format!("over {path} in {}", format::clip(unit, 12)),
    };
    let page = Page { grid: &grid, over: &over, name: &path };
    let mut part = section("curves", "What changes");
    if grid.left_out > 0 {
        part.push(El::new("p").class("lead").text(format!(
            "The first {} values of {} are drawn; the table has all.",
            grid.variants.len(),
            format::clip(result.varied.as_deref().unwrap_or_default(), 60)
        )));
    }
    part.push(page.rejection(result));
    part.push(page.work());
    Some(part.children(page.services(result)).children(page.hidden()))
}

/// Services that reject any attempts, those that reject most first.
pub(super) fn rejecting(result: &Solve, most: usize) -> Vec<String> {
    let mut worst: Vec<(f64, &String)> = Vec::new();
    for point in &result.points {
        for (name, service) in &point.solution.services {
            let Some(s) = format::measured(service.s).filter(|s| *s > 1e-6) else { continue };
            match worst.iter_mut().find(|(_, known)| *known == name) {
                Some((most, _)) => *most = most.max(s),
                None => worst.push((s, name)),
            }
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    worst.into_iter().take(most).map(|(_, name)| name.clone()).collect()
}

/// The points by variant and swept value.
struct Grid<'a> {
    /// Swept values, in order.
    values: Vec<f64>,
    /// Name of each variant, and its solution at each value.
    variants: Vec<(String, Vec<Option<&'a Solution>>)>,
    /// Variants that are not drawn.
    left_out: usize,
}

impl<'a> Grid<'a> {
    fn of(result: &'a Solve) -> Option<Self> {
        let value = |p: &Point| p.value.and_then(format::measured);
        let mut values: Vec<f64> = result.points.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.is_empty() {
            return None;
        }
        let mut grid = Self { values, variants: Vec::new(), left_out: 0 };
        let mut left_out: Vec<&str> = Vec::new();
        for point in &result.points {
            let Some(value) = value(point) else { continue };
            let name = point.variant.as_deref().unwrap_or_default();
            let at = match grid.variants.iter().position(|(known, _)| known == name) {
                Some(at) => at,
                None if grid.variants.len() < DASHES => {
                    grid.variants.push((name.to_owned(), vec![None; grid.values.len()]));
                    grid.variants.len() - 1
                }
                None => {
                    if !left_out.contains(&name) {
                        left_out.push(name);
                    }
                    continue;
                }
            };
            let x = grid.values.partition_point(|v| *v < value);
            if let Some(place) = grid.variants.get_mut(at).and_then(|(_, row)| row.get_mut(x)) {
                *place = Some(&point.solution);
            }
        }
        grid.left_out = left_out.len();
        Some(grid)
    }

    /// The curves of several numbers, each in a colour; of each variant in a dash of its own.
    fn lines(&self, numbers: &[(String, Number<'_>)], print: fn(f64) -> String) -> Vec<Line> {
        let varied = self.variants.len() > 1;
        let mut lines = Vec::new();
        for (v, (variant, row)) in self.variants.iter().enumerate() {
            for (n, (name, number)) in numbers.iter().enumerate() {
                let name = match (varied, variant.as_str()) {
                    (false, _) | (true, "") => name.clone(),
                    (true, variant) => format!("{name}, {}", format::clip(variant, 24)),
                };
                lines.push(Line {
                    name,
                    // Without variants the dash tells the numbers apart as well.
                    class: style(n, if varied { v } else { n }),
                    values: row.iter().map(|s| format::measured(number((*s)?)?)).collect(),
                    print,
                    filled: false,
                });
            }
        }
        lines.retain(|line| line.values.iter().any(Option::is_some));
        lines
    }

    /// One line for what is the same for all variants, such as the load; otherwise one for each.
    fn shared(&self, name: &str, number: Number<'_>, colour: usize, print: Print) -> Vec<Line> {
        let mut lines = self.lines(&[(name.to_owned(), number)], print);
        let same = lines.windows(2).all(|pair| pair[0].values == pair[1].values);
        if same {
            lines.truncate(1);
        }
        for (v, line) in lines.iter_mut().enumerate() {
            line.class = style(colour, if same { 1 } else { v });
            if same {
                name.clone_into(&mut line.name);
            }
        }
        lines
    }

    /// What the simulator gave for the same numbers.
    fn seen(&self, numbers: &[Interval<'_>]) -> Vec<Seen> {
        let varied = self.variants.len() > 1;
        let mut all = Vec::new();
        for (v, (_, row)) in self.variants.iter().enumerate() {
            for (n, number) in numbers.iter().enumerate() {
                for (t, s) in self.values.iter().zip(row) {
                    let Some((value, interval)) = s.and_then(number) else { continue };
                    if let Some(value) = format::measured(value) {
                        let class = style(n, if varied { v } else { n });
                        all.push(Seen { t: *t, value, interval: Some(interval), class });
                    }
                }
            }
        }
        all
    }
}

type Print = fn(f64) -> String;
type Number<'n> = Box<dyn Fn(&Solution) -> Option<f64> + 'n>;
type Interval<'n> = Box<dyn Fn(&Solution) -> Option<(f64, [f64; 2])> + 'n>;

struct Page<'a> {
    grid: &'a Grid<'a>,
    over: &'a str,
    name: &'a str,
}

impl Page<'_> {
    fn rejection(&self, result: &Solve) -> El {
        let order = result.points.first().map_or(&[][..], |p| &p.solution.class_order);
        let classes = &order[..order.len().min(COLOURS)];
        let number = |class: &'_ String| -> Number<'_> {
            let class = class.clone();
            Box::new(move |s| s.classes.get(&class).map(|c| c.rejection))
        };
        let numbers: Vec<(String, Number<'_>)> =
            classes.iter().map(|c| (format::clip(c, 24), number(c))).collect();
        let seen: Vec<Interval<'_>> = classes
            .iter()
            .map(|class| -> Interval<'_> {
                Box::new(move |s| {
                    let seen = s.simulated.as_ref()?.classes.get(class)?;
                    Some((seen.rejection, seen.rejection_ci95))
                })
            })
            .collect();
        let lines = self.grid.lines(&numbers, format::percent);
        let mut chart = self.chart("rejection", "Requests rejected", lines, format::percent);
        chart.seen = self.grid.seen(&seen);
        chart.height_px = 220.0;
        // Less than one percent is not worth a whole axis.
        chart.least_high = 0.01;
        chart.draw()
    }

    fn work(&self) -> El {
        let numbers: [(String, Number<'_>); 2] = [
            ("per request".to_owned(), Box::new(|s| Some(s.calls_per_request))),
            ("per success".to_owned(), Box::new(|s| s.calls_per_success)),
        ];
        let seen: [Interval<'_>; 1] = [Box::new(|s| {
            let seen = s.simulated.as_ref()?;
            Some((seen.calls_per_request, seen.calls_per_request_ci95))
        })];
        let mut lines = self.grid.lines(&numbers, format::number);
        let floor: Number<'_> = Box::new(|s| Some(s.floor_calls_per_request));
        lines.extend(self.grid.shared("when healthy", floor, COLOURS - 1, format::number));
        let mut chart = self.chart("work", "Calls", lines, format::number);
        chart.seen = self.grid.seen(&seen);
        // Where hardly anything succeeds, calls per success have no end.
        chart.may_be_log = true;
        chart.draw()
    }

    fn services(&self, result: &Solve) -> Option<El> {
        let names = rejecting(result, MOST_SERVICES);
        let number = |name: &String| -> Number<'_> {
            let name = name.clone();
            Box::new(move |s| s.services.get(&name).map(|s| s.s))
        };
        let numbers: Vec<(String, Number<'_>)> =
            names.iter().map(|n| (format::clip(n, 24), number(n))).collect();
        let lines = self.grid.lines(&numbers, format::percent);
        if lines.is_empty() {
            return None;
        }
        let title = "Attempts rejected by the fullest services";
        let mut chart = self.chart("services", title, lines, format::percent);
        chart.least_high = 0.01;
        Some(chart.draw())
    }

    fn hidden(&self) -> Option<El> {
        let any = self.grid.variants.iter().flat_map(|(_, row)| row.iter().flatten());
        if !any.clone().any(|s| s.hidden_rps.is_some()) {
            return None;
        }
        let hidden: [(String, Number<'_>); 1] =
            [("hidden capacity".to_owned(), Box::new(|s| s.hidden_rps))];
        let mut lines = self.grid.lines(&hidden, format::rate);
        let load: Number<'_> = Box::new(|s| Some(s.load_rps));
        lines.extend(self.grid.shared("load", load, COLOURS - 1, format::rate));
        Some(self.chart("hidden", "Hidden capacity and load", lines, format::number).draw())
    }

    fn chart(
        &self,
        id: &'static str,
        title: &str,
        lines: Vec<Line>,
        print_axis: fn(f64) -> String,
    ) -> LineChart {
        let values = &self.grid.values;
        let ends = |values: &[Option<f64>], print: fn(f64) -> String| {
            let valued = || values.iter().flatten();
            match (valued().next(), valued().next_back()) {
                (Some(first), Some(last)) => {
                    format!("{} at first, {} at last", print(*first), print(*last))
                }
                _ => "not known".to_owned(),
            }
        };
        let words = lines.iter().map(|l| format!(" {}: {}.", l.name, ends(&l.values, l.print)));
        let description = format!("Lines {}.{}", self.over, words.collect::<String>());
        LineChart {
            id,
            title: title.to_owned(),
            aside: self.over.to_owned(),
            description,
            height_px: 170.0,
            t_s: values.clone(),
            interval_s: 0.0,
            across: Across { name: self.name.to_owned(), print: format::number },
            lines,
            seen: Vec::new(),
            trigger_s: None,
            levels: Vec::new(),
            may_be_log: false,
            least_high: 0.0,
            print_axis,
        }
    }
}

/// Colours and dashes of the style sheet.
const COLOURS: usize = 6;
const DASHES: usize = 4;
/// Services that are drawn.
const MOST_SERVICES: usize = 4;

fn style(colour: usize, dash: usize) -> &'static str {
    STYLES[dash % DASHES][colour % COLOURS]
}

const STYLES: [[&str; COLOURS]; DASHES] = [
    ["c0 d0", "c1 d0", "c2 d0", "c3 d0", "c4 d0", "c5 d0"],
    ["c0 d1", "c1 d1", "c2 d1", "c3 d1", "c4 d1", "c5 d1"],
    ["c0 d2", "c1 d2", "c2 d2", "c3 d2", "c4 d2", "c5 d2"],
    ["c0 d3", "c1 d3", "c2 d3", "c3 d3", "c4 d3", "c5 d3"],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{ClassSolution, Swept};

    fn point(value: f64, variant: Option<&str>, rejection: f64) -> Point {
        let class = ClassSolution { rejection, ..ClassSolution::default() };
        Point {
            at: vec![format!("load={value}/s")],
            value: Some(value),
            variant: variant.map(str::to_owned),
            solution: Solution {
                class_order: vec!["high".into()],
                classes: [("high".to_owned(), class)].into(),
                ..Solution::default()
            },
        }
    }

    fn sweep(points: Vec<Point>) -> Solve {
        let swept = Some(Swept { path: "load".into(), unit: "/s".into() });
        Solve { points, swept, ..Solve::default() }
    }

    #[test]
    fn each_variant_has_a_line_with_its_own_dash() {
        let result = sweep(vec![
            point(20.0, Some("1"), 0.2),
            point(10.0, Some("1"), 0.1),
            point(20.0, Some("5"), 0.4),
        ]);
        let grid = Grid::of(&result).unwrap();
        assert_eq!(grid.values, [10.0, 20.0]);
        let number: Number<'_> = Box::new(|s| s.classes.get("high").map(|c| c.rejection));
        let lines = grid.lines(&[("high".to_owned(), number)], format::percent);
        let seen: Vec<_> = lines.iter().map(|l| (l.name.as_str(), l.class, &l.values)).collect();
        assert_eq!(
            seen,
            [
                ("high, 1", "c0 d0", &vec![Some(0.1), Some(0.2)]),
                ("high, 5", "c0 d1", &vec![None, Some(0.4)]),
            ]
        );
    }

    #[test]
    fn more_variants_than_dashes_are_said() {
        let names = ["a", "b", "c", "d", "e", "e", "f"];
        let result = sweep(names.iter().map(|n| point(1.0, Some(n), 0.5)).collect());
        assert_eq!(Grid::of(&result).unwrap().left_out, 2);
        assert!(part(&result).unwrap().to_markup().contains("The first 4 values"));
    }

    #[test]
    fn without_a_swept_value_there_are_no_curves() {
        let result = Solve { points: vec![point(1.0, None, 0.5)], ..Solve::default() };
        assert!(part(&result).is_none());
        assert!(part(&sweep(vec![point(f64::NAN, None, 0.5)])).is_none());
    }
}

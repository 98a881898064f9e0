//! A plane of two settings: where the system heals after its trigger, and where not.

use super::{cell, name_cell, section, table};
use crate::format;
use crate::html::El;
use crate::result::{BOUNDARY, Map, MapAxis};
use crate::svg::axis::{self, Area};
use crate::svg::scale::Scale;
use crate::svg::{Figure, SPACE, label, pct, px, tip};

const AREA: Area = Area { top: 28.0, height: 420.0 };

/// State, class of its cells, and what it means. Also the order of the legend.
const STATES: [(&str, &str, &str); 5] = [
    ("heals", "health", "heals by itself after the trigger"),
    ("stays down", "collapse", "stays down after the trigger"),
    ("overloaded", "over", "overloaded without a trigger"),
    ("unknown", "unknown", "could not be told"),
    (BOUNDARY, "edge", "cells that a boundary goes through"),
];

/// Points listed below the picture, at the most.
const MOST_ROWS: usize = 400;

pub(crate) fn part(map: &Map) -> El {
    let lead = El::new("p").class("lead").text(format!(
        "After {}: {} across, {} upwards. Each run has a seed of its own; points whose neighbours \
         differ were run again until the interval of their share decided, at most {} times{}.{} The \
         boundary is known to one cell in {} along each side.",
        if map.trigger.is_empty() { "the trigger" } else { &map.trigger },
        map.x.path,
        map.y.path,
        map.most_runs,
        match map.undecided {
            0 => String::new(),
            n => format!(", which left {} undecided", format::count(n)),
        },
        order(map),
        map.cells_per_side,
    ));
    section("map", "Where it heals, and where it does not").child(lead).child(figure(map))
}

/// Whether points spoke for each other.
fn order(map: &Map) -> String {
    if let Some([easier, harder]) = map.violated {
        let at = |[x, y]: [f64; 2]| format!("{} ({})", place(map, x, y), map.at(x, y));
        return format!(
            " Harder is not always worse here, so that every point was run by itself: {} beside {}.",
            at(easier),
            at(harder),
        );
    }
    match map.inferred + map.checked {
        0 => String::new(),
        _ => format!(
            " {} points were not run, as easier and harder ones decide them; {} such points were run \
             all the same and agree.",
            format::count(map.inferred),
            format::count(map.checked),
        ),
    }
}

fn scale(axis: &MapAxis) -> Scale {
    Scale::linear(axis.from, axis.to)
}

fn figure(map: &Map) -> El {
    let (x, y) = (scale(&map.x), scale(&map.y));
    let mut shapes = vec![plane(map, x, y)];
    shapes.extend(axis::vertical(y, AREA, format::number));
    shapes.extend(axis::horizontal(x, AREA, format::number));
    shapes.push(label("0", AREA.top - 12.0, "start", &named(&map.y)).class("note"));
    shapes.push(label("100%", AREA.bottom() + 38.0, "end", &named(&map.x)).class("note"));
    shapes.extend(map.points.iter().filter(|p| p.open).map(|p| {
        let says = format!("{}: {} of {} runs heal", place(map, p.x, p.y), p.healed, p.runs);
        El::new("g").class("spot doubt").attr("tabindex", "-1").child(tip(says)).child(dot(
            x.fraction(p.x),
            AREA.y(y, p.y),
            "2.5",
        ))
    }));
    shapes.extend(map.file_at.map(|[at_x, at_y]| here(map, x.fraction(at_x), AREA.y(y, at_y))));
    let figure = Figure {
        id: "map-plane",
        title: format!("{} by {}", map.x.path, map.y.path),
        aside: format!(
            "{} runs, a full grid: {}",
            format::count(map.runs),
            format::count(map.grid_runs)
        ),
        description: description(map),
        legend: Some(legend(map)),
        explore: "marks",
        data: None,
        table: Some(numbers(map)),
    };
    figure.frame("axes", AREA.bottom() + 48.0, shapes)
}

fn named(axis: &MapAxis) -> String {
    match axis.unit.as_str() {
        "" => axis.path.clone(),
        "/s" => format!("{}, per second", axis.path),
        unit => format!("{}, {unit}", axis.path),
    }
}

fn place(map: &Map, x: f64, y: f64) -> String {
    let told = |axis: &MapAxis, v: f64| format!("{} {}{}", axis.path, format::number(v), axis.unit);
    format!("{}, {}", told(&map.x, x), told(&map.y, y))
}

fn dot(fraction: f64, down: f64, radius: &str) -> El {
    El::new("circle").attr("cx", pct(fraction)).attr("cy", px(down)).attr("r", radius).class("disc")
}

/// Where the file itself is.
fn here(map: &Map, fraction: f64, down: f64) -> El {
    let [x, y] = map.file_at.unwrap_or_default();
    let (dx, anchor) = if fraction > 0.75 { ("-10", "end") } else { ("10", "start") };
    El::new("g")
        .class("spot left")
        .attr("tabindex", "-1")
        .child(tip(format!("the file: {}, {}", place(map, x, y), map.at(x, y))))
        .child(dot(fraction, down, "6"))
        .child(label(pct(fraction), down - 9.0, anchor, "the file").attr("dx", dx).class("halo"))
}

/// All cells and the line between them, in a space that stretches with the plot.
fn plane(map: &Map, x: Scale, y: Scale) -> El {
    let inner = Area { top: 0.0, height: AREA.height };
    let across = |v: f64| x.fraction(v) * SPACE;
    let down = |v: f64| inner.y(y, v);
    let mut space = El::new("svg")
        .attr("viewBox", format!("0 0 {} {}", px(SPACE), px(inner.height)))
        .attr("preserveAspectRatio", "none")
        .attr("y", px(AREA.top))
        .attr("width", "100%")
        .attr("height", px(inner.height))
        .attr("shape-rendering", "crispEdges")
        .attr("aria-hidden", "true");
    for (state, class, _) in STATES {
        // One path for all cells of a state: their edges would show between rectangles.
        let d: String = map
            .cells
            .iter()
            .filter(|c| c.state == state)
            .map(|c| {
                let (left, right) = (px(across(c.x[0])), px(across(c.x[1])));
                let (low, high) = (px(down(c.y[0])), px(down(c.y[1])));
                format!("M{left} {low}H{right}V{high}H{left}Z")
            })
            .collect();
        if !d.is_empty() {
            space.push(El::new("path").class(format!("basin {class}")).attr("d", d));
        }
    }
    let line: String = map
        .boundary
        .iter()
        .map(|[a, b]| {
            let at = |p: &[f64; 2]| format!("{} {}", px(across(p[0])), px(down(p[1])));
            format!("M{}L{}", at(a), at(b))
        })
        .collect();
    if !line.is_empty() {
        let edge = El::new("path").class("line basin-edge").attr("d", line);
        space.push(edge.attr("shape-rendering", "auto"));
    }
    space
}

fn description(map: &Map) -> String {
    let all: f64 = map.cells.iter().map(area).sum();
    let share = |state: &str| {
        let part: f64 = map.cells.iter().filter(|c| c.state == state).map(area).sum();
        format::percent(if all > 0.0 { part / all } else { 0.0 })
    };
    format!(
        "A plane: {} across, {} upwards. It heals in {} of it, stays down in {}, and is overloaded \
         in {}; the rest is boundary.",
        named(&map.x),
        named(&map.y),
        share("heals"),
        share("stays down"),
        share("overloaded"),
    )
}

fn area(cell: &crate::result::MapCell) -> f64 {
    let area = (cell.x[1] - cell.x[0]) * (cell.y[1] - cell.y[0]);
    if area.is_finite() { area } else { 0.0 }
}

fn legend(map: &Map) -> El {
    let swatch = |class: &'static str| {
        El::new("svg").attr("width", "16").attr("height", "12").attr("aria-hidden", "true").child(
            El::new("rect")
                .attr("width", "16")
                .attr("height", "12")
                .class(format!("basin {class}")),
        )
    };
    let there = STATES.iter().filter(|(state, ..)| map.cells.iter().any(|c| c.state == *state));
    let legend = El::new("ul")
        .class("legend")
        .children(there.map(|(_, class, says)| El::new("li").child(swatch(class)).text(*says)));
    if !map.points.iter().any(|p| p.open) {
        return legend;
    }
    let mark = El::new("svg").attr("width", "16").attr("height", "12").attr("aria-hidden", "true");
    let disc = El::new("circle").attr("cx", "8").attr("cy", "6").attr("r", "2.5").class("disc");
    let mark = mark.child(El::new("g").class("spot doubt").child(disc));
    let says = "points that their runs could not decide: chance does";
    legend.child(El::new("li").child(mark).text(says))
}

/// The points that were run more than once: those that the boundary rests on.
fn numbers(map: &Map) -> El {
    let rows = map.points.iter().filter(|p| p.runs > 1).take(MOST_ROWS).map(|p| {
        let [low, high] = p.heals_ci95;
        vec![
            name_cell(&place(map, p.x, p.y)),
            cell(p.state.clone()),
            cell(format!("{} of {}", p.healed, p.runs)),
            cell(format!("{} to {}", format::percent(low), format::percent(high))),
        ]
    });
    table("map", &["point", "state", "runs that heal", "95 % interval"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{MapCell, MapPoint};

    fn map() -> Map {
        let cell = |x: [f64; 2], state: &str| MapCell {
            x,
            y: [0.0, 4.0],
            state: state.into(),
            ..MapCell::default()
        };
        let axis = |path: &str, unit: &str, to| MapAxis {
            path: path.into(),
            unit: unit.into(),
            from: 0.0,
            to,
        };
        Map {
            trigger: "outage of db for 2s".into(),
            x: axis("load", "/s", 300.0),
            y: axis("trigger.for", "s", 4.0),
            cells: vec![
                cell([0.0, 150.0], "heals"),
                cell([150.0, 180.0], BOUNDARY),
                cell([180.0, 300.0], "stays down"),
            ],
            boundary: vec![[[165.0, 0.0], [165.0, 4.0]]],
            points: vec![MapPoint {
                x: 165.0,
                y: 2.0,
                state: "heals".into(),
                runs: 8,
                healed: 5,
                heals_ci95: [0.31, 0.86],
                decided: false,
                open: true,
            }],
            most_runs: 8,
            undecided: 1,
            file_at: Some([270.0, 2.0]),
            cells_per_side: 64,
            ..Map::default()
        }
    }

    #[test]
    fn cells_boundary_and_doubt_are_drawn() {
        let markup = part(&map()).to_markup();
        assert!(markup.contains("M0 420H500V0H0Z"), "{markup}");
        assert!(markup.contains("M550 420L550 0"), "{markup}");
        assert!(markup.contains("5 of 8 runs heal"));
        assert!(markup.contains("the file: load 270/s, trigger.for 2s, stays down"));
        assert!(markup.contains("heals in 50\u{a0}% of it"), "{markup}");
        assert!(!markup.contains("could not be told"), "the legend has what is there");
    }

    #[test]
    fn the_legend_says_what_the_dots_are_where_there_are_any() {
        let says = "points that their runs could not decide";
        let mut map = map();
        assert!(part(&map).to_markup().contains(says));
        map.points[0].open = false;
        assert!(!part(&map).to_markup().contains(says));
    }

    #[test]
    fn nothing_hostile_breaks_it() {
        let strange = Map {
            boundary: vec![[[f64::NAN, 0.0], [f64::INFINITY, 1.0]]],
            cells: vec![MapCell { x: [f64::NAN; 2], state: "<b>".into(), ..MapCell::default() }],
            ..Map::default()
        };
        let markup = part(&strange).to_markup();
        assert!(!markup.contains("NaN") && !markup.contains("<b>"), "{markup}");
    }
}

//! `damper map` for people: letters, and behind them colours on a terminal.

use anstyle::{AnsiColor, Style};
use damper_report::result::{Map, MapAxis, MapCell};

use super::table::table;
use super::{BOLD, count, line, paint, provenance, thousands};

/// The most columns and rows of a picture.
const COLUMNS: u32 = 64;
const ROWS: u32 = 16;
/// Rows of the table of where it stops healing.
const LEVELS: u32 = 5;

/// State, its letter, and what it means.
const LETTERS: [(&str, char, &str, AnsiColor); 4] = [
    ("heals", '.', "heals by itself", AnsiColor::Green),
    ("stays down", 'x', "stays down", AnsiColor::Red),
    ("overloaded", 'o', "overloaded without a trigger", AnsiColor::Yellow),
    ("unknown", '?', "not known", AnsiColor::White),
];

/// Prints the map, its boundary in numbers, and what it took.
pub(crate) fn map(r: &Map) {
    let title = format!("{}: where it heals after {}", paint(BOLD, &r.origin.system), r.trigger);
    line(&title);
    line("");
    let (columns, rows) = (COLUMNS.min(r.cells_per_side), ROWS.min(r.cells_per_side));
    let labels = [r.y.to, (r.y.from + r.y.to) / 2.0, r.y.from].map(|v| number(v, &r.y.unit));
    let width = labels.iter().map(String::len).max().unwrap_or(0).max(6);
    line(&format!("  {:>width$} {}", "", r.y.path));
    for row in 0..rows {
        let label = match row {
            0 => labels[0].as_str(),
            row if row == rows / 2 => labels[1].as_str(),
            row if row + 1 == rows => labels[2].as_str(),
            _ => "",
        };
        line(&format!("  {label:>width$} {}", cells(r, row, rows, columns)));
    }
    let (from, to) = (number(r.x.from, &r.x.unit), number(r.x.to, &r.x.unit));
    let gap = (columns as usize).saturating_sub(from.len());
    line(&format!("  {:>width$} {from}{to:>gap$}", ""));
    line(&format!("  {:>width$} {:>columns$}", "", r.x.path, columns = columns as usize));
    line("");
    let there = LETTERS.iter().filter(|(state, ..)| r.points.iter().any(|p| p.state == *state));
    let mut legend: Vec<String> =
        there.map(|(_, letter, says, _)| format!("{letter} {says}")).collect();
    if r.file_at.is_some() {
        legend.push("@ the file".to_owned());
    }
    line(&format!("  {}", legend.join("   ")));
    line("");
    boundary(r);
    line(&format!(
        "  {} at {} points, of which {} on a boundary stayed undecided; a full grid: {} runs",
        count(r.runs as usize, "run"),
        thousands(r.points.len() as u64),
        thousands(r.undecided),
        thousands(r.grid_runs),
    ));
    order(r);
    line("");
    let simulated = format!("{} requests simulated", thousands(r.simulated_requests));
    provenance(&r.origin, &simulated);
}

/// Whether points spoke for each other.
fn order(r: &Map) {
    if let Some([easier, harder]) = &r.violated {
        let at = |[x, y]: &[f64; 2]| {
            format!(
                "{} {}, {} {} {}",
                r.x.path,
                number(*x, &r.x.unit),
                r.y.path,
                number(*y, &r.y.unit),
                r.points.iter().find(|p| p.x == *x && p.y == *y).map_or("", |p| p.state.as_str()),
            )
        };
        line("  harder is not always worse here, so that every point was run by itself:");
        line(&format!("  {}, and {}", at(easier), at(harder)));
    } else if r.inferred + r.checked > 0 {
        line(&format!(
            "  {} follow from easier and harder ones; {} more were run to see whether it is so, and it is",
            count(r.inferred as usize, "point"),
            thousands(r.checked),
        ));
    }
}

/// One row of the picture, from the top.
fn cells(r: &Map, row: u32, rows: u32, columns: u32) -> String {
    let middle = |axis: &MapAxis, i: u32, of: u32| {
        axis.from + (axis.to - axis.from) * (f64::from(i) + 0.5) / f64::from(of)
    };
    let here = r.file_at.map(|[x, y]| {
        let place = |axis: &MapAxis, v: f64, of: u32| {
            let share = (v - axis.from) / (axis.to - axis.from);
            ((share * f64::from(of)) as u32).min(of - 1)
        };
        (place(&r.x, x, columns), rows - 1 - place(&r.y, y, rows))
    });
    let y = middle(&r.y, rows - 1 - row, rows);
    let mut text = String::new();
    let mut before = None;
    for column in 0..columns {
        let state = r.at(middle(&r.x, column, columns), y);
        let found = LETTERS.iter().find(|(s, ..)| *s == state);
        let (letter, colour) = found.map_or(('?', AnsiColor::White), |(_, l, _, c)| (*l, *c));
        let style =
            Style::new().fg_color(Some(AnsiColor::Black.into())).bg_color(Some(colour.into()));
        if before != Some(colour) {
            if before.is_some() {
                text.push_str(&format!("{style:#}"));
            }
            text.push_str(&style.render().to_string());
            before = Some(colour);
        }
        text.push(if here == Some((column, row)) { '@' } else { letter });
    }
    text.push_str(&Style::new().bold().render_reset().to_string());
    text
}

/// At some levels: where it stops healing.
fn boundary(r: &Map) {
    let level = |i: u32| r.y.from + (r.y.to - r.y.from) * f64::from(i) / f64::from(LEVELS - 1);
    let rows: Vec<Vec<String>> =
        (0..LEVELS).rev().map(|i| vec![number(level(i), &r.y.unit), turns(r, level(i))]).collect();
    table(&[&r.y.path, &format!("where it changes along {}", r.x.path)], &rows);
    line("");
}

/// Where healing begins or ends along a level, from and to the corners of a cell.
fn turns(r: &Map, y: f64) -> String {
    let mut spans: Vec<[f64; 2]> = Vec::new();
    let heals = |corner: &Option<String>| corner.as_deref().map(|state| state == "heals");
    // A level on the line between two rows of cells is the upper one's, but for the very top.
    let on = |c: &MapCell| c.y[0] <= y && (y < c.y[1] || (y >= r.y.to && y <= c.y[1]));
    for cell in r.cells.iter().filter(|c| on(c)) {
        let [low_left, low_right, high_left, high_right] = &cell.corners;
        let near_top = 2.0 * y > cell.y[0] + cell.y[1];
        let (left, right) = if near_top { (high_left, high_right) } else { (low_left, low_right) };
        if let (Some(left), Some(right)) = (heals(left), heals(right))
            && left != right
            && !spans.contains(&cell.x)
        {
            spans.push(cell.x);
        }
    }
    spans.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let at_left = r.at(r.x.from, y);
    if spans.is_empty() {
        return format!("{at_left} all along");
    }
    let told = spans
        .iter()
        .map(|[a, b]| format!("{} to {}", number(*a, &r.x.unit), number(*b, &r.x.unit)));
    format!("{at_left} up to {}", told.collect::<Vec<_>>().join(", turns again at "))
}

/// A value with its unit, in three digits or as many as it has.
fn number(value: f64, unit: &str) -> String {
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text.as_str()
    };
    format!("{text}{unit}")
}

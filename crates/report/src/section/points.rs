//! A sweep in a sentence, in its first numbers, and as a table of its points.

use super::facts::{self, Fact};
use super::solution::simulated;
use super::{cell, name_cell, section, verdict};
use crate::format;
use crate::html::El;
use crate::result::{Point, Solve};

/// The head of the page.
pub(crate) fn head(result: &Solve) -> El {
    let values = result.points.len();
    let mut sentence = El::new("p").class("verdict").text(format!("Solved at {values} points"));
    if let Some(swept) = &result.swept {
        let ends = result.points.iter().filter_map(|p| p.value.and_then(format::measured));
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        sentence = sentence.text(": ").child(El::new("strong").text(format::clip(&swept.path, 60)));
        if low <= high {
            let [low, high] = [low, high].map(format::number);
            sentence = sentence.text(format!(" from {low} to {high}{}", swept.unit));
        }
    }
    if let Some(varied) = &result.varied {
        let with =
            if result.swept.is_some() { ", with several values of " } else { ": values of " };
        sentence = sentence.text(with).child(El::new("strong").text(format::clip(varied, 60)));
    }
    El::new("header")
        .child(verdict::kicker("Solution", &result.origin.system))
        .child(sentence.text("."))
        .child(facts::row(&extremes(result)))
}

/// The largest of each curve, and where.
fn extremes(result: &Solve) -> Vec<Fact> {
    let at = |p: &Point| format!("at {}", place(result, p).join(", "));
    let most = |name: String, value: &dyn Fn(&Point) -> Option<f64>, print: fn(f64) -> String| {
        let valued = result.points.iter().filter_map(|p| Some((p, format::measured(value(p)?)?)));
        let (point, value) = valued.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Fact::new(name, print(value), if value > 0.0 { at(point) } else { String::new() }))
    };
    let classes = result.points.first().map_or(&[][..], |p| &p.solution.class_order);
    let mut facts: Vec<Fact> = classes
        .iter()
        .take(MOST_CLASSES)
        .filter_map(|class| {
            let rejection = |p: &Point| p.solution.classes.get(class).map(|c| c.rejection);
            let name = format!("{} rejected, at most", format::clip(class, 24));
            most(name, &rejection, format::percent)
        })
        .collect();
    facts.extend(most(
        "calls per request, at most".to_owned(),
        &|p| Some(p.solution.calls_per_request),
        format::number,
    ));
    let hidden = result.points.iter().filter_map(|p| Some((p, p.solution.hidden_rps?)));
    if let Some((point, least)) = hidden.min_by(|a, b| a.1.total_cmp(&b.1)) {
        facts.push(Fact::new("hidden capacity, at least", format::rate(least), at(point)));
    }
    facts
}

/// The point in the values that make it: that of the swept field with its unit, then the varied.
fn place(result: &Solve, point: &Point) -> Vec<String> {
    let unit = result.swept.as_ref().map_or("", |s| s.unit.as_str());
    let value = point.value.map(|v| format!("{}{unit}", format::number(v)));
    let variant = point.variant.as_ref().map(|v| format::clip(v, 40));
    let known: Vec<String> = value.into_iter().chain(variant).collect();
    if known.is_empty() { vec![format::clip(&point.at.join(", "), 60)] } else { known }
}

/// The fields that make a point, in the order of [`place`].
fn fields(result: &Solve) -> Vec<String> {
    let swept = result.swept.iter().map(|s| format::clip(&s.path, 40));
    let known: Vec<String> =
        swept.chain(result.varied.iter().map(|v| format::clip(v, 40))).collect();
    if known.is_empty() { vec!["at".to_owned()] } else { known }
}

/// The first cells of a point's row.
fn place_cells(result: &Solve, point: &Point) -> Vec<El> {
    let mut place = place(result, point);
    // A row has as many cells as the head, whatever the point left out.
    place.resize(fields(result).len(), format::NONE.to_owned());
    let mut place = place.into_iter();
    let first = name_cell(&place.next().unwrap_or_default());
    [first].into_iter().chain(place.map(cell)).collect()
}

/// Every point, as far as a page can hold them.
pub(crate) fn table(result: &Solve) -> El {
    let mut part = section("points", "Every point");
    let Some(first) = result.points.first() else {
        return part.child(El::new("p").class("empty").text("No point was solved."));
    };
    if result.points.len() > MOST_ROWS {
        part.push(El::new("p").class("lead").text(format!(
            "The first {MOST_ROWS} of {} points; the JSON has all.",
            result.points.len()
        )));
    }
    let classes = &first.solution.class_order;
    let with_sim = result.points.iter().any(|p| p.solution.simulated.is_some());
    let with_routes =
        result.points.iter().any(|p| p.solution.as_routes.as_ref().is_some_and(|r| r.differs));
    let mut columns = fields(result);
    for class in classes {
        columns.push(format!("{class} rejected"));
        if with_routes {
            columns.push("as a routing chain".to_owned());
        }
        if with_sim {
            columns.extend(["simulated (95 %)", "difference (95 %)"].map(str::to_owned));
        }
    }
    let last = ["calls per request", "per success", "when healthy", "hidden"];
    columns.extend(last.map(str::to_owned));
    let rows = result.points.iter().take(MOST_ROWS).map(|p| {
        let s = &p.solution;
        let mut row = place_cells(result, p);
        let seen = s.simulated.as_ref();
        for class in classes {
            let found = s.classes.get(class).map(|c| format::percent(c.rejection));
            row.push(cell(found.unwrap_or_else(|| format::NONE.to_owned())));
            if with_routes {
                let read = s.as_routes.as_ref().and_then(|r| r.rejection.get(class));
                row.push(cell(read.map_or(format::NONE.to_owned(), |r| format::percent(*r))));
            }
            if with_sim {
                row.extend(simulated(seen.and_then(|s| s.classes.get(class))));
            }
        }
        row.push(cell(format::number(s.calls_per_request)));
        row.push(cell(s.calls_per_success.map_or(format::NONE.to_owned(), format::number)));
        row.push(cell(format::number(s.floor_calls_per_request)));
        row.push(cell(format::rate_or_none(s.hidden_rps)));
        row
    });
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    part.push(super::table("points", &columns, rows));
    part.children(busiest(result))
}

/// Attempts rejected by service, where a service rejects any.
fn busiest(result: &Solve) -> Vec<El> {
    let names = super::curves::rejecting(result, MOST_COLUMNS);
    if names.is_empty() {
        return Vec::new();
    }
    let fields = fields(result);
    let columns: Vec<&str> = fields.iter().chain(&names).map(String::as_str).collect();
    let rows = result.points.iter().take(MOST_ROWS).map(|p| {
        let share = |name: &String| p.solution.services.get(name).map(|s| format::percent(s.s));
        let values =
            names.iter().map(|n| cell(share(n).unwrap_or_else(|| format::NONE.to_owned())));
        place_cells(result, p).into_iter().chain(values).collect()
    });
    vec![
        El::new("h3").text("Attempts rejected by service"),
        super::table("services", &columns, rows),
    ]
}

/// Classes with a tile of their own.
const MOST_CLASSES: usize = 4;
/// Rows of the table.
const MOST_ROWS: usize = 500;
/// Services with a column of their own.
const MOST_COLUMNS: usize = 12;

//! The page of `damper scan --amplification`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::amplification::{Amplification, AmplifyingLayer, Between};
use crate::section::{calls, cell, name_cell, section, table};

/// One self-contained HTML page: the ways with the largest products, the graph with its calls
/// weighted, services, and the changes. Accepts any value, as
/// [`headroom_html`](crate::headroom_html) does.
pub fn amplification_html(result: &Amplification) -> String {
    let heading = El::new("h1")
        .text("Amplification of ")
        .child(El::new("span").class("system").text(result.source.clone()));
    let mut parts =
        vec![El::new("header").child(heading).child(El::new("p").text(verdict(result)))];
    parts.push(ways(result));
    if !result.ways.is_empty() {
        parts.push(layers(result));
    }
    parts.extend(calls::part(&result.graph, None));
    parts.push(services(result));
    if !result.changes.is_empty() {
        parts.push(changes(result));
    }
    if !result.notes.is_empty() {
        let notes = result.notes.iter().map(|note| El::new("li").text(note.clone()));
        parts.push(section("notes", "Notes").child(El::new("ul").children(notes)));
    }
    page(&format!("Amplification: {}", result.source), parts)
}

/// `243`, `3 to 9`, `3 or more`.
pub fn between(value: &Between) -> String {
    let low = format::number(value.low);
    match value.high {
        Some(high) if format::number(high) == low => low,
        Some(high) => format!("{low} to {}", format::number(high)),
        None if value.low.is_finite() => format!("{low} or more"),
        None => "no end".to_owned(),
    }
}

fn verdict(result: &Amplification) -> String {
    let Some(way) = result.ways.first() else {
        return "No way through this graph multiplies a request.".to_owned();
    };
    let limit = match (result.limit, result.met) {
        (Some(limit), true) => format!(" Every way is at or under {}.", format::number(limit)),
        (Some(limit), false) => format!(" The limit is {}.", format::number(limit)),
        (None, _) => String::new(),
    };
    format!(
        "In the worst case one request becomes {} attempts at {}.{limit}",
        between(&way.worst),
        way.services.last().map_or("", String::as_str)
    )
}

fn ways(result: &Amplification) -> El {
    let rows = result.ways.iter().map(|way| {
        vec![
            name_cell(&way.services.join(" → ")),
            cell(between(&way.worst)),
            cell(between(&way.sustained)),
            cell(between(&way.expected)),
            cell(way.layers.len().to_string()),
        ]
    });
    let expected = format!("{} of attempts fail", format::percent(result.failure));
    section("ways", "Ways with the largest products").child(table(
        "ways",
        &["way", "one request", "while all fails", &expected, "layers"],
        rows,
    ))
}

/// The layers of the listed ways, each once.
fn layers(result: &Amplification) -> El {
    let mut all: Vec<&AmplifyingLayer> = Vec::new();
    for layer in result.ways.iter().flat_map(|way| &way.layers) {
        if !all.contains(&layer) {
            all.push(layer);
        }
    }
    let rows = all.into_iter().map(|layer| {
        vec![
            name_cell(&layer.call),
            cell(between(&layer.attempts)),
            cell(format::clip(&layer.who, 40)),
            cell(if layer.written { "" } else { "nobody: a default" }),
            cell(
                layer.budget.as_deref().map_or_else(String::new, |budget| format::clip(budget, 40)),
            ),
            cell(layer.place.clone().unwrap_or_default()),
        ]
    });
    section("layers", "Their layers").child(table(
        "layers",
        &["call", "attempts", "who", "written by", "budget", "where"],
        rows,
    ))
}

fn services(result: &Amplification) -> El {
    let rows = result.services.iter().map(|service| {
        let hidden = match service.capacity_rps {
            Some(_) => format!("{}/s", between(&service.hidden)),
            None => format!("{} of its capacity", between(&service.hidden)),
        };
        vec![
            name_cell(&service.service),
            cell(between(&service.worst)),
            cell(between(&service.sustained)),
            cell(format::rate_or_none(service.capacity_rps)),
            cell(hidden),
        ]
    });
    section("services", "Services").child(table(
        "services",
        &["service", "worst", "while all fails", "capacity", "heals by itself below"],
        rows,
    ))
}

fn changes(result: &Amplification) -> El {
    let rows = result.changes.iter().map(|change| {
        vec![
            name_cell(&change.layer.call),
            cell(change.layer.who.clone()),
            cell(between(&change.layer.attempts)),
            cell(change.attempts.to_string()),
            cell(change.layer.place.clone().unwrap_or_default()),
        ]
    });
    section("changes", "The fewest changes").child(table(
        "changes",
        &["call", "layer", "attempts now", "attempts then", "where"],
        rows,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_say_what_they_know() {
        let of = |low, high| between(&Between { low, high });
        assert_eq!(of(243.0, Some(243.0)), "243");
        assert_eq!(of(3.0, Some(9.0)), "3 to 9");
        assert_eq!(of(3.0, None), "3 or more");
        assert_eq!(of(f64::INFINITY, None), "no end");
    }

    #[test]
    fn an_empty_result_is_a_page() {
        let page = amplification_html(&Amplification::default());
        assert!(page.contains("No way through this graph"));
    }
}

//! One solution: what is rejected in a sentence, the first numbers, and the tables.

use super::facts::{self, Fact};
use super::tables::ordered;
use super::{cell, name_cell, section, table, verdict};
use crate::format;
use crate::html::El;
use crate::result::{AsRoutes, ClassSolution, FixedPoints, SimulatedClass, Solution};

/// The head of the page.
pub(crate) fn head(system: &str, s: &Solution) -> El {
    El::new("header")
        .child(verdict::kicker("Solution", system))
        .child(sentence(s))
        .child(facts::row(&first_numbers(s)))
}

fn sentence(s: &Solution) -> El {
    let p = El::new("p").class("verdict").text(format!("At {} ", format::rate(s.load_rps)));
    let classes = ordered(&s.class_order, &s.classes);
    if classes.iter().all(|(_, c)| c.rejection < LITTLE) {
        return p.child(El::new("strong").text("nothing is rejected")).text(" for good.");
    }
    match classes.as_slice() {
        [(_, only)] => p
            .child(El::new("strong").text(format::percent(only.rejection)))
            .text(" of the requests are rejected for good."),
        _ => {
            let mut p = p;
            let shown = classes.len().min(MOST_NAMED);
            for (i, (name, class)) in classes.iter().take(MOST_NAMED).enumerate() {
                let between = match i {
                    0 => "",
                    _ if i + 1 == shown => " and ",
                    _ => ", ",
                };
                p = p
                    .text(between)
                    .child(El::new("strong").text(format::percent(class.rejection)))
                    .text(format!(" of {}", format::clip(name, 30)));
            }
            p.text(" are rejected for good.")
        }
    }
}

fn first_numbers(s: &Solution) -> Vec<Fact> {
    let total: f64 = s.classes.values().map(|c| c.load_rps).sum();
    let lost: f64 = s.classes.values().map(|c| c.load_rps * c.rejection).sum();
    let mut facts = vec![
        Fact::new("load", format::rate(s.load_rps), "all classes"),
        Fact::new(
            "rejected",
            format::percent(if total > 0.0 { lost / total } else { 0.0 }),
            "of all requests",
        ),
        Fact::new(
            "calls per request",
            format::number(s.calls_per_request),
            format!("{} when healthy", format::number(s.floor_calls_per_request)),
        ),
        Fact::new(
            "calls per success",
            s.calls_per_success.map_or(format::NONE.to_owned(), format::number),
            if s.calls_per_success.is_none() { "nothing succeeds" } else { "" },
        ),
    ];
    let (hidden, note) = match s.hidden_rps.and_then(format::measured) {
        Some(hidden) if s.load_rps > hidden => (
            format::rate(hidden),
            format!("the load is {} of it", format::times(s.load_rps / hidden)),
        ),
        Some(hidden) => (format::rate(hidden), "the load is below it".to_owned()),
        None => (format::NONE.to_owned(), "no closed form, or no work is wasted".to_owned()),
    };
    facts.push(Fact::new("hidden capacity", hidden, note));
    let (several, note) = match &s.fixed_points {
        Some(found) => {
            let others = found.found.saturating_sub(1);
            let value = if others == 0 { "not seen".to_owned() } else { others.to_string() };
            (value, format!("from {} random starts", found.starts))
        }
        None if s.unique => ("none".to_owned(), "this is the only one".to_owned()),
        None => ("possible".to_owned(), "not ruled out".to_owned()),
    };
    facts.push(Fact::new("other solutions", several, note));
    facts
}

/// Classes and services, with the other reading and the simulator where there are any.
pub(crate) fn tables(s: &Solution) -> El {
    // The other reading is shown where it says something else.
    let routes = s.as_routes.as_ref().filter(|r| r.differs);
    let mut part = section("ends", "Requests and attempts");
    if let Some(routes) = routes {
        part.push(other_reading(s, routes));
    }
    part.push(El::new("h3").text("Requests by class"));
    part.push(classes(s, routes));
    if let Some(seen) = &s.simulated {
        part.push(El::new("p").class("lead").text(format!(
            "Calls per request: {} solved, {} simulated{}.",
            format::number(s.calls_per_request),
            format::number(seen.calls_per_request),
            bracketed(Some(seen.calls_per_request_ci95), format::number),
        )));
    }
    part.push(El::new("h3").text("Attempts by service"));
    part.push(services(s, routes));
    part.push(El::new("p").class("lead").text(format!(
        "{}: {}.",
        if s.unique { "The only solution" } else { "Other solutions are not ruled out" },
        s.unique_because
    )));
    part.children(s.fixed_points.iter().filter(|f| f.found > 1).flat_map(|f| several(s, f)))
}

fn other_reading(s: &Solution, routes: &AsRoutes) -> El {
    El::new("p").class("lead").text(format!(
        "Read as a routing chain of the literature, in which a hop that fails is repeated by \
         itself and never with what came before it, the same calls come to {} calls per request \
         instead of {}. The tables have both readings.",
        format::number(routes.calls_per_request),
        format::number(s.calls_per_request),
    ))
}

fn classes(s: &Solution, routes: Option<&AsRoutes>) -> El {
    let mut columns = vec!["class", "load", "rejection", "completion"];
    if routes.is_some() {
        columns.push("rejection as a routing chain");
    }
    if s.simulated.is_some() {
        columns.extend(["simulated (95 %)", "difference (95 %)"]);
    }
    let rows = ordered(&s.class_order, &s.classes).into_iter().map(|(name, c)| {
        let mut row = class(name, c);
        if let Some(routes) = routes {
            row.push(cell(share(routes.rejection.get(name))));
        }
        if let Some(seen) = &s.simulated {
            row.extend(simulated(seen.classes.get(name)));
        }
        row
    });
    table("requests by class", &columns, rows)
}

fn class(name: &str, c: &ClassSolution) -> Vec<El> {
    vec![
        name_cell(name),
        cell(format::rate(c.load_rps)),
        cell(format::percent(c.rejection)),
        cell(format::percent(c.completion)),
    ]
}

/// The simulated rejection of a class, and how far the solution is from it.
pub(super) fn simulated(seen: Option<&SimulatedClass>) -> [El; 2] {
    let Some(seen) = seen else {
        return [cell(format::NONE), cell(format::NONE)];
    };
    let interval = bracketed(Some(seen.rejection_ci95), format::percent);
    let difference = format::ordered(Some(seen.difference_ci95)).map_or(String::new(), |[a, b]| {
        format!(" ({} to {})", format::points_bare(a), format::points_bare(b))
    });
    [
        cell(format!("{}{interval}", format::percent(seen.rejection))),
        cell(format!("{}{difference}", format::points(seen.difference))),
    ]
}

fn services(s: &Solution, routes: Option<&AsRoutes>) -> El {
    let mut columns = vec![
        "service",
        "rejects",
        "attempts",
        "utilisation",
        "amplification",
        "at worst",
        "hidden",
    ];
    if routes.is_some() {
        columns.push("rejects as a routing chain");
    }
    if s.simulated.is_some() {
        columns.push("attempts simulated (95 %)");
    }
    let rows = ordered(&s.service_order, &s.services).into_iter().map(|(name, x)| {
        let mut row = vec![
            name_cell(name),
            cell(format::percent(x.s)),
            cell(format::rate(x.attempts_rps.values().sum())),
            cell(share(x.utilisation.as_ref())),
            cell(format::times(x.amplification)),
            cell(format::times(x.worst_amplification)),
            cell(format::rate_or_none(x.hidden_rps)),
        ];
        if let Some(routes) = routes {
            row.push(cell(share(routes.s.get(name))));
        }
        if let Some(seen) = &s.simulated {
            let text = seen.services.get(name).map_or(format::NONE.to_owned(), |seen| {
                let interval = bracketed(seen.attempts_rps_ci95, format::rate);
                format!("{}{interval}", format::rate(seen.attempts_rps))
            });
            row.push(cell(text));
        }
        row
    });
    table("attempts by service", &columns, rows)
}

/// Attempts rejected by service, in each of several solutions.
fn several(s: &Solution, found: &FixedPoints) -> [El; 2] {
    let shown = &found.solutions[..found.solutions.len().min(MOST_SOLUTIONS)];
    let columns: Vec<String> = ["service".to_owned()]
        .into_iter()
        .chain(shown.iter().enumerate().map(|(i, p)| {
            let name = if i == 0 { "shown above".to_owned() } else { format!("another {i}") };
            format!("{name} ({} starts)", p.starts)
        }))
        .collect();
    let rows = s.service_order.iter().map(|name| {
        let values = shown.iter().map(|p| cell(share(p.s.get(name))));
        [name_cell(name)].into_iter().chain(values).collect()
    });
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    [El::new("h3").text("Attempts rejected in each solution"), table("solutions", &columns, rows)]
}

fn share(value: Option<&f64>) -> String {
    value.map_or(format::NONE.to_owned(), |v| format::percent(*v))
}

fn bracketed(interval: Option<[f64; 2]>, print: fn(f64) -> String) -> String {
    format::interval(interval, print).map_or(String::new(), |i| format!(" ({i})"))
}

/// Rejection that is not worth a number in the headline.
const LITTLE: f64 = 5e-7;
/// Classes that the headline names.
const MOST_NAMED: usize = 4;
/// Solutions in the table; the JSON has all.
const MOST_SOLUTIONS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rejections: &[(&str, f64)]) -> String {
        let class = |r: f64| ClassSolution { rejection: r, load_rps: 1.0, ..Default::default() };
        let s = Solution {
            load_rps: 300.0,
            classes: rejections.iter().map(|(n, r)| ((*n).to_owned(), class(*r))).collect(),
            ..Solution::default()
        };
        let markup = sentence(&s).to_markup();
        markup.replace("<strong>", "").replace("</strong>", "").replace('\u{a0}', " ")
    }

    #[test]
    fn the_headline_names_what_is_rejected() {
        let verdict = |text: &str| format!("<p class=\"verdict\">{text}</p>\n");
        assert_eq!(
            at(&[("high", 0.161), ("low", 0.608)]),
            verdict("At 300/s 16.1 % of high and 60.8 % of low are rejected for good.")
        );
        assert_eq!(
            at(&[("x", 0.5)]),
            verdict("At 300/s 50 % of the requests are rejected for good.")
        );
        assert_eq!(at(&[("x", 1e-9)]), verdict("At 300/s nothing is rejected for good."));
    }

    #[test]
    fn another_reading_is_shown_where_it_differs() {
        let with = |differs| {
            let routes = AsRoutes { differs, calls_per_request: 3.4, ..AsRoutes::default() };
            let s = Solution { as_routes: Some(routes), ..Solution::default() };
            tables(&s).to_markup()
        };
        assert!(with(true).contains("rejects as a routing chain"));
        assert!(!with(false).contains("routing chain"));
    }
}

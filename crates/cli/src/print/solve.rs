//! `damper solve` for people.

use damper_report::result::{
    AsRoutes, FixedPoint, FixedPoints, Simulated, SimulatedClass, Solution, Solve,
};

use super::table::table;
use super::{BOLD, count, line, paint, percent, provenance, rate};
use crate::convert::ordered;

/// Prints the solution, or one line for each point of a sweep.
pub(crate) fn solve(r: &Solve) {
    if let Some(solution) = &r.solution {
        line(&format!("{}: solved at {}", paint(BOLD, &r.origin.system), rate(solution.load_rps)));
        line("");
        one(solution);
    } else {
        line(&format!("{}: solved at {} points", paint(BOLD, &r.origin.system), r.points.len()));
        line("");
        sweep(r);
    }
    line("");
    let counted = match &r.solution {
        Some(s) => format!("{} iterations, residual {:.1e}", s.iterations, s.residual),
        None => format!("{} points", r.points.len()),
    };
    provenance(&r.origin, &counted);
}

fn one(s: &Solution) {
    // The other reading is shown where it says something else.
    let routes = s.as_routes.as_ref().filter(|r| r.differs);
    classes(s, routes);
    line("");
    services(s, routes);
    line("");
    calls(s, routes);
    match (s.hidden_rps, &s.weakest) {
        (Some(hidden), Some(weakest)) => {
            line(&format!("  heals by itself below {} ({weakest}), in closed form", rate(hidden)));
        }
        _ => line(
            "  no hidden capacity in closed form: no work is wasted, or the simulator must tell",
        ),
    }
    let other = if s.unique { "the only solution" } else { "other solutions are not ruled out" };
    let how =
        if s.unique || s.fixed_points.is_some() { "" } else { "; --restarts N looks for them" };
    line(&format!("  {other}: {}{how}", s.unique_because));
    if let Some(found) = &s.fixed_points {
        fixed_points(s, found);
    }
}

fn classes(s: &Solution, routes: Option<&AsRoutes>) {
    let mut head = vec!["class", "load", "rejection", "completion"];
    if routes.is_some() {
        head.push("as a routing chain");
    }
    if s.simulated.is_some() {
        head.extend(["simulated (95 %)", "difference"]);
    }
    let rows: Vec<Vec<String>> = ordered(&s.class_order, &s.classes)
        .map(|(name, c)| {
            let mut row = vec![
                name.to_owned(),
                rate(c.load_rps),
                percent(c.rejection),
                percent(c.completion),
            ];
            if let Some(routes) = routes {
                row.push(routes.rejection.get(name).map_or(String::new(), |r| percent(*r)));
            }
            if let Some(seen) = s.simulated.as_ref().and_then(|s| s.classes.get(name)) {
                row.extend(compared(seen));
            }
            row
        })
        .collect();
    table(&head, &rows);
}

/// The simulated rejection of a class with its interval, and how far the solution is from it.
fn compared(seen: &SimulatedClass) -> [String; 2] {
    let [low, high] = seen.rejection_ci95.map(percent);
    let [least, most] = seen.difference_ci95.map(|d| format!("{:+.1}", 100.0 * d));
    [
        format!("{} ({low}–{high})", percent(seen.rejection)),
        format!("{:+.1} ({least} to {most}) points", 100.0 * seen.difference),
    ]
}

fn services(s: &Solution, routes: Option<&AsRoutes>) {
    let mut head =
        vec!["service", "rejects", "attempts", "utilised", "amplified", "at worst", "hidden"];
    if routes.is_some() {
        head.push("rejects as a chain");
    }
    if s.simulated.is_some() {
        head.push("attempts simulated (95 %)");
    }
    let rows: Vec<Vec<String>> = ordered(&s.service_order, &s.services)
        .map(|(name, x)| {
            let mut row = vec![
                name.to_owned(),
                percent(x.s),
                rate(x.attempts_rps.values().sum()),
                x.utilisation.map_or("–".to_owned(), percent),
                format!("{:.2}", x.amplification),
                format!("{:.0}", x.worst_amplification),
                x.hidden_rps.map_or("–".to_owned(), rate),
            ];
            if let Some(routes) = routes {
                row.push(routes.s.get(name).map_or(String::new(), |s| percent(*s)));
            }
            if let Some(seen) = s.simulated.as_ref().and_then(|s| s.services.get(name)) {
                let interval = seen.attempts_rps_ci95.map_or(String::new(), |c| {
                    format!(" ({}–{})", rate(c[0]).trim_end_matches("/s"), rate(c[1]))
                });
                row.push(format!("{}{interval}", rate(seen.attempts_rps)));
            }
            row
        })
        .collect();
    table(&head, &rows);
}

fn calls(s: &Solution, routes: Option<&AsRoutes>) {
    let success =
        |per: Option<f64>| per.map_or("no success".to_owned(), |c| format!("{c:.2} per success"));
    line(&format!(
        "  calls per request {:.2} ({}; a healthy system needs {:.2})",
        s.calls_per_request,
        success(s.calls_per_success),
        s.floor_calls_per_request
    ));
    if let Some(seen) = &s.simulated {
        let [low, high] = seen.calls_per_request_ci95;
        let [least, most] = seen.calls_per_request_difference_ci95;
        line(&format!(
            "  simulated {:.2} ({low:.2}–{high:.2}), difference {:+.2} ({least:+.2} to {most:+.2})",
            seen.calls_per_request, seen.calls_per_request_difference
        ));
    }
    if let Some(routes) = routes {
        line(&format!(
            "  as a routing chain {:.2} ({}): there a hop that fails is repeated by itself, never with what came before",
            routes.calls_per_request,
            success(routes.calls_per_success)
        ));
    }
}

fn fixed_points(s: &Solution, found: &FixedPoints) {
    let unsettled = match found.unsettled {
        0 => String::new(),
        n => format!(", {n} did not come to rest"),
    };
    let starts = count(found.starts as usize, "random start");
    if found.found < 2 {
        line(&format!("  {starts} found no other{unsettled}"));
        return;
    }
    line(&format!(
        "  {starts} found {} different solutions{unsettled}; attempts rejected in each:",
        found.found
    ));
    line("");
    let name = |i: usize| if i == 0 { "shown".to_owned() } else { format!("another {i}") };
    let mut head = vec!["solution".to_owned(), "starts".to_owned()];
    // Services that are the same in all tell nothing.
    let differ = |name: &&String| {
        let at = |p: &FixedPoint| p.s.get(*name).copied().unwrap_or_default();
        let first = found.solutions.first().map_or(0.0, at);
        found.solutions.iter().any(|p| (at(p) - first).abs() > 1e-6)
    };
    let services: Vec<&String> = s.service_order.iter().filter(differ).take(MOST_SHOWN).collect();
    head.extend(services.iter().map(|s| (*s).clone()));
    let rows: Vec<Vec<String>> = found
        .solutions
        .iter()
        .take(MOST_SHOWN)
        .enumerate()
        .map(|(i, p)| {
            let rejects =
                services.iter().map(|s| p.s.get(*s).map_or(String::new(), |s| percent(*s)));
            [name(i), p.starts.to_string()].into_iter().chain(rejects).collect()
        })
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, &rows);
}

/// Solutions, and services of them, that are printed; the JSON has all.
const MOST_SHOWN: usize = 10;

fn sweep(r: &Solve) {
    let Some(first) = r.points.first() else { return };
    let order = &first.solution.class_order;
    let simulated = first.solution.simulated.is_some();
    let differs = |s: &Solution| s.as_routes.as_ref().is_some_and(|r| r.differs);
    let routes = r.points.iter().any(|p| differs(&p.solution));
    let searched = r.points.iter().any(|p| p.solution.fixed_points.is_some());
    let mut head: Vec<String> = vec!["at".to_owned()];
    for class in order {
        head.push(format!("{class} rejected"));
        if routes {
            head.push("as a chain".to_owned());
        }
        if simulated {
            head.extend(["simulated (95 %)", "difference"].map(str::to_owned));
        }
    }
    head.push("calls per request".to_owned());
    if simulated {
        head.extend(["simulated (95 %)", "difference"].map(str::to_owned));
    }
    head.push("hidden".to_owned());
    if searched {
        head.push("solutions".to_owned());
    }
    let rows: Vec<Vec<String>> = r
        .points
        .iter()
        .map(|p| {
            let mut row = vec![p.at.join(", ")];
            let s = &p.solution;
            for (name, class) in ordered(order, &s.classes) {
                row.push(percent(class.rejection));
                if routes {
                    let read = s.as_routes.as_ref().and_then(|r| r.rejection.get(name));
                    row.push(read.map_or(String::new(), |r| percent(*r)));
                }
                if simulated {
                    // An interrupted sweep has points that were not simulated.
                    let seen = s.simulated.as_ref().and_then(|s| s.classes.get(name));
                    row.extend(seen.map_or(["–".to_owned(), "–".to_owned()], compared));
                }
            }
            row.push(format!("{:.2}", s.calls_per_request));
            if simulated {
                row.extend(
                    s.simulated.as_ref().map_or(["–".to_owned(), "–".to_owned()], calls_seen),
                );
            }
            row.push(s.hidden_rps.map_or("–".to_owned(), rate));
            if searched {
                row.push(s.fixed_points.as_ref().map_or("1".to_owned(), |f| f.found.to_string()));
            }
            row
        })
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, &rows);
}

fn calls_seen(seen: &Simulated) -> [String; 2] {
    let [low, high] = seen.calls_per_request_ci95;
    let [least, most] = seen.calls_per_request_difference_ci95;
    [
        format!("{:.2} ({low:.2}–{high:.2})", seen.calls_per_request),
        format!("{:+.2} ({least:+.2} to {most:+.2})", seen.calls_per_request_difference),
    ]
}

//! `damper solve` for people.

use damper_report::result::{Solution, Solve};

use super::table::table;
use super::{BOLD, line, paint, percent, provenance, rate};
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
    let simulated = s.simulated.as_ref();
    let mut head = vec!["class", "load", "rejection", "completion"];
    if simulated.is_some() {
        head.extend(["simulated (95 %)", "difference"]);
    }
    let classes: Vec<Vec<String>> = ordered(&s.class_order, &s.classes)
        .map(|(name, c)| {
            let mut row = vec![
                name.to_owned(),
                rate(c.load_rps),
                percent(c.rejection),
                percent(c.completion),
            ];
            if let Some(seen) = simulated.and_then(|s| s.classes.get(name)) {
                row.push(format!(
                    "{} ({}–{})",
                    percent(seen.rejection),
                    percent(seen.rejection_ci95[0]),
                    percent(seen.rejection_ci95[1])
                ));
                row.push(format!("{:+.1} points", 100.0 * seen.difference));
            }
            row
        })
        .collect();
    table(&head, &classes);
    line("");
    let services: Vec<Vec<String>> = ordered(&s.service_order, &s.services)
        .map(|(name, x)| {
            vec![
                name.to_owned(),
                percent(x.s),
                rate(x.attempts_rps.values().sum()),
                x.utilisation.map_or("–".to_owned(), percent),
                format!("{:.2}", x.amplification),
                format!("{:.0}", x.worst_amplification),
                x.hidden_rps.map_or("–".to_owned(), rate),
            ]
        })
        .collect();
    table(
        &["service", "rejects", "attempts", "utilised", "amplified", "at worst", "hidden"],
        &services,
    );
    line("");
    let success =
        s.calls_per_success.map_or("no success".to_owned(), |c| format!("{c:.2} per success"));
    let seen =
        simulated.map_or(String::new(), |s| format!(", {:.2} simulated", s.calls_per_request));
    line(&format!(
        "  calls per request {:.2}{seen} ({success}; a healthy system needs {:.2})",
        s.calls_per_request, s.floor_calls_per_request
    ));
    match (s.hidden_rps, &s.weakest) {
        (Some(hidden), Some(weakest)) => {
            line(&format!("  heals by itself below {} ({weakest}), in closed form", rate(hidden)));
        }
        _ => line(
            "  no hidden capacity in closed form: no work is wasted, or the simulator must tell",
        ),
    }
    let other = if s.unique { "the only solution" } else { "other solutions are not ruled out" };
    line(&format!("  {other}: {}", s.unique_because));
}

fn sweep(r: &Solve) {
    let Some(first) = r.points.first() else { return };
    let order = &first.solution.class_order;
    let mut head: Vec<String> = vec!["at".to_owned()];
    head.extend(order.iter().map(|c| format!("{c} rejected")));
    if first.solution.simulated.is_some() {
        head.extend(order.iter().map(|c| format!("{c} simulated")));
    }
    head.extend(["calls per request", "hidden"].map(str::to_owned));
    let rows: Vec<Vec<String>> = r
        .points
        .iter()
        .map(|p| {
            let mut row = vec![p.at.join(", ")];
            let s = &p.solution;
            row.extend(ordered(order, &s.classes).map(|(_, c)| percent(c.rejection)));
            if let Some(seen) = &s.simulated {
                row.extend(ordered(order, &seen.classes).map(|(_, c)| percent(c.rejection)));
            }
            row.push(format!("{:.2}", s.calls_per_request));
            row.push(s.hidden_rps.map_or("–".to_owned(), rate));
            row
        })
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, &rows);
}

//! The report of `damper solve`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::Solve;
use crate::section::{calls, curves, points, provenance, solution, verdict};

/// One self-contained HTML page that shows a solution, or the curves of a sweep. Accepts any
/// value, as [`headroom_html`](crate::headroom_html) does.
pub fn solve_html(result: &Solve) -> String {
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(result.origin.partial));
    let mut how = Vec::new();
    if let Some(found) = &result.solution {
        parts.push(solution::head(&result.origin.system, found));
        parts.extend(result.graph.as_ref().and_then(|graph| calls::part(graph, None)));
        parts.push(solution::tables(found));
        how.push(("load", format::rate(found.load_rps)));
        how.push(("iterations", found.iterations.to_string()));
        how.push(("residual", residual(found.residual)));
    } else {
        parts.push(points::head(result));
        parts.extend(curves::part(result));
        parts.push(points::table(result));
        how.push(("points", result.points.len().to_string()));
    }
    let solutions = result.points.iter().map(|p| &p.solution).chain(&result.solution);
    if let Some(seen) = solutions.filter_map(|s| s.simulated.as_ref()).next() {
        how.push(("replications", seen.replications.to_string()));
    }
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Solution", &result.origin.system), parts)
}

/// By how much the equations are missed: its order of magnitude is all that matters.
fn residual(value: f64) -> String {
    match format::measured(value) {
        Some(0.0) => "0".to_owned(),
        Some(value) => format!("{value:.1e}"),
        None => format::NONE.to_owned(),
    }
}

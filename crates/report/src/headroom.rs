//! The report of `damper headroom`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::Headroom;
use crate::section::{calls, capacity, cost, provenance, remedies, tables, timeline, verdict};

/// One self-contained HTML page that shows the result.
///
/// Any value is accepted: what is missing is left out, what is not a number is printed as a
/// dash, and every name is escaped.
pub fn headroom_html(result: &Headroom) -> String {
    let held = result.sustaining_loop.as_ref();
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(result.origin.partial));
    parts.push(verdict::headroom(result));
    parts.extend(capacity::part(result));
    if let Some(run) = &result.shown {
        parts.push(timeline::part(run, &result.graph, held.map(|l| l.service.as_str())));
    }
    parts.extend(calls::part(&result.graph, held));
    parts.extend(remedies::part(result));
    parts.extend(cost::part(result));
    parts.extend(result.shown.as_ref().and_then(tables::part));
    let how = [
        ("trigger", result.trigger.clone()),
        ("load shown", format::rate(result.shown_load_rps)),
        ("replications", result.replications.to_string()),
        ("simulated requests", format::count(result.simulated_requests)),
    ];
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Headroom", &result.origin.system), parts)
}

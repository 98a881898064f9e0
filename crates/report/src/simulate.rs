//! The report of `damper simulate`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::Simulate;
use crate::section::{calls, provenance, tables, timeline, verdict};

/// One self-contained HTML page that shows the result of one experiment. Accepts any value,
/// as [`headroom_html`](crate::headroom_html) does.
pub fn simulate_html(result: &Simulate) -> String {
    let run = &result.run;
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(result.origin.partial));
    parts.push(verdict::simulate(result));
    parts.push(timeline::part(run, &result.graph, None));
    parts.extend(calls::part(&result.graph, None));
    parts.extend(tables::part(run));
    let trigger =
        if result.trigger.is_empty() { "none".to_owned() } else { result.trigger.clone() };
    let how = [
        ("trigger", trigger),
        ("load", format::rate(run.load_rps)),
        ("replications", run.replications.to_string()),
        ("measured", format::seconds(run.measured_s)),
        ("events", format::count(run.events)),
    ];
    parts.push(provenance::part(&result.origin, &how));
    page(&verdict::title("Simulation", &result.origin.system), parts)
}

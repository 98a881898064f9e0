//! The page of `damper map`.

use crate::format;
use crate::html::El;
use crate::page::page;
use crate::result::Map;
use crate::section::{map, provenance, verdict};

/// One self-contained HTML page with the map. Accepts any value, as
/// [`headroom_html`](crate::headroom_html) does.
pub fn map_html(result: &Map) -> String {
    let heading = El::new("h1")
        .text("Map of ")
        .child(El::new("span").class("system").text(result.origin.system.clone()));
    let parts = vec![
        El::new("header").child(heading),
        map::part(result),
        provenance::part(
            &result.origin,
            &[
                ("runs", format::count(result.runs)),
                ("a full grid", format!("{} runs", format::count(result.grid_runs))),
                ("requests simulated", format::count(result.simulated_requests)),
            ],
        ),
    ];
    page(&verdict::title("Map", &result.origin.system), parts)
}

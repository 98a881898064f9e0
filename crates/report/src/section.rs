//! The parts of a report, one file each, and what they share.

use crate::format;
use crate::html::El;

pub(crate) mod basins;
pub(crate) mod calls;
pub(crate) mod capacity;
pub(crate) mod cost;
pub(crate) mod curves;
pub(crate) mod facts;
pub(crate) mod findings;
pub(crate) mod map;
pub(crate) mod points;
pub(crate) mod policies;
pub(crate) mod provenance;
pub(crate) mod remedies;
pub(crate) mod solution;
pub(crate) mod study;
pub(crate) mod tables;
pub(crate) mod timeline;
pub(crate) mod verdict;

/// A part with its heading.
pub(crate) fn section(id: &'static str, heading: &str) -> El {
    El::new("section")
        .attr("id", id)
        .attr("aria-labelledby", format!("{id}-heading"))
        .child(El::new("h2").attr("id", format!("{id}-heading")).text(heading))
}

/// A table in a container of its own, so that a wide one does not widen the page.
pub(crate) fn scrolling(name: &str, table: El) -> El {
    El::new("div")
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", format!("table: {name}"))
        .child(table)
}

/// A table from its column names and rows; the first cell of each row names it.
pub(crate) fn table(name: &str, columns: &[&str], rows: impl IntoIterator<Item = Vec<El>>) -> El {
    let head =
        El::new("tr").children(columns.iter().map(|c| El::new("th").attr("scope", "col").text(*c)));
    let body = rows.into_iter().map(|cells| El::new("tr").children(cells));
    let table =
        El::new("table").child(El::new("thead").child(head)).child(El::new("tbody").children(body));
    scrolling(name, table)
}

/// The cell that names a row.
pub(crate) fn name_cell(name: &str) -> El {
    let cell = El::new("th").attr("scope", "row");
    let shown = format::clip(name, MOST_CHARS);
    if shown == name { cell.text(shown) } else { cell.attr("title", name).text(shown) }
}

/// A cell of text.
pub(crate) fn cell(text: impl Into<String>) -> El {
    El::new("td").text(text)
}

/// Longest name that is printed in full; the rest is in the tooltip.
const MOST_CHARS: usize = 60;

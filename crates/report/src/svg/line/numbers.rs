//! The numbers behind a line chart: for the script, and as a table.

use serde_json::json;

use super::{Area, LineChart, Scale};
use crate::html::El;
use crate::{format, thin};

impl LineChart {
    /// What the script needs to name the values under the pointer: everything printed here,
    /// so that a number looks the same wherever it stands.
    pub(super) fn data(&self, x: Scale, y: Scale, area: Area) -> serde_json::Value {
        let spans: Vec<_> = thin::spans(self.t_s.len(), READ_POINTS).collect();
        let moments: Vec<(f64, String)> = spans.iter().map(|s| self.moment(s.clone())).collect();
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|line| {
                let means: Vec<Option<f64>> =
                    spans.iter().map(|s| line.values.get(s.clone()).and_then(thin::mean)).collect();
                let at = |v: &Option<f64>| v.map(|v| area.y(y, v).round());
                let text = |v: &Option<f64>| v.map(line.print);
                json!({
                    "name": line.name,
                    "class": line.class,
                    "y": means.iter().map(at).collect::<Vec<_>>(),
                    "text": means.iter().map(text).collect::<Vec<_>>(),
                })
            })
            .collect();
        let place = |(t, _): &(f64, String)| (x.fraction(*t) * 1e4).round() / 1e4;
        json!({
            "x": moments.iter().map(place).collect::<Vec<_>>(),
            "label": moments.iter().map(|(_, label)| label).collect::<Vec<_>>(),
            "lines": lines,
        })
    }

    pub(super) fn table(&self) -> El {
        let spans: Vec<_> = thin::spans(self.t_s.len(), TABLE_ROWS).collect();
        let head = El::new("tr")
            .child(El::new("th").attr("scope", "col").text(self.across.name.clone()))
            .children(
                self.lines.iter().map(|l| El::new("th").attr("scope", "col").text(l.name.clone())),
            );
        let rows = spans.into_iter().filter(|s| !s.is_empty()).map(|span| {
            let (_, label) = self.moment(span.clone());
            let cells = self.lines.iter().map(|line| {
                let mean = line.values.get(span.clone()).and_then(thin::mean);
                El::new("td").text(mean.map_or_else(|| format::NONE.to_owned(), line.print))
            });
            El::new("tr").child(El::new("th").attr("scope", "row").text(label)).children(cells)
        });
        let table = El::new("table")
            .child(El::new("thead").child(head))
            .child(El::new("tbody").children(rows));
        crate::section::scrolling(&self.title, table)
    }

    /// Middle of a span of points, and its words.
    fn moment(&self, span: std::ops::Range<usize>) -> (f64, String) {
        let half = self.interval_s / 2.0;
        let points = self.t_s.get(span).unwrap_or_default();
        let first = points.first().copied().unwrap_or_default();
        let last = points.last().copied().unwrap_or_default();
        let (from, to) = (first - half, last + half);
        let label = if half > 0.0 {
            format!("{}–{}", format::moment(from).replace("\u{a0}s", ""), format::moment(to))
        } else if first < last {
            format!("{}–{}", (self.across.print)(first), (self.across.print)(last))
        } else {
            (self.across.print)(first)
        };
        (f64::midpoint(first, last), label)
    }
}

/// Points that can be read one by one.
const READ_POINTS: usize = 400;
/// Rows of the table behind a chart.
const TABLE_ROWS: usize = 90;

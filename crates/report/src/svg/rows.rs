//! Bars that lie below each other, each with its name above it: for shares and counts by name.

use super::{Figure, block, label, pct, segment};
use crate::format;
use crate::html::El;

/// Height of a row: its line of text and its bar.
const ROW: f64 = 34.0;

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Its length, from 0 to 1.
    pub(crate) fraction: f64,
    /// Its value in words.
    pub(crate) text: String,
    /// A mark to compare with, from 0 to 1.
    pub(crate) before: Option<f64>,
}

/// A chart of them.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// Unique on the page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) aside: String,
    pub(crate) description: String,
    pub(crate) rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn draw(self) -> El {
        let height = self.rows.len() as f64 * ROW;
        let mut shapes = Vec::new();
        for (place, row) in self.rows.iter().enumerate() {
            let top = place as f64 * ROW;
            let fraction =
                if row.fraction.is_finite() { row.fraction.clamp(0.0, 1.0) } else { 0.0 };
            shapes.push(label("0", top + 14.0, "start", &format::clip(&row.name, 34)));
            shapes.push(label("100%", top + 14.0, "end", &row.text).class("tick"));
            shapes.push(block(0.0, 1.0, top + 20.0, 8.0).class("track"));
            shapes.push(block(0.0, fraction, top + 20.0, 8.0).class("value"));
            if let Some(before) = row.before.filter(|before| before.is_finite()) {
                let at = pct(before.clamp(0.0, 1.0));
                shapes.push(segment(&at, top + 17.0, &at, top + 31.0).class("before"));
            }
        }
        let figure = Figure {
            id: self.id,
            title: self.title,
            aside: self.aside,
            description: self.description,
            legend: None,
            explore: "",
            data: None,
            table: None,
        };
        figure.frame("rows", height, shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let row =
            |fraction, before| Row { name: "a".to_owned(), fraction, text: "1".to_owned(), before };
        let chart = Rows {
            id: "x",
            title: "X".to_owned(),
            aside: String::new(),
            description: "a".to_owned(),
            rows: vec![row(0.25, Some(0.5)), row(f64::NAN, None)],
        };
        let markup = chart.draw().to_markup();
        assert!(markup.contains("width=\"25%\""), "{markup}");
        assert!(markup.contains("x1=\"50%\""), "{markup}");
        assert!(markup.contains("width=\"0%\""), "{markup}");
    }
}

//! Charts, drawn here and not in the browser.
//!
//! Across, positions are percentages of the plot; down, they are pixels. So one drawing
//! fits every width while its text keeps its size. Curves live in a nested `<svg>` whose
//! user space is stretched; their strokes do not scale.

use serde_json::Value;

use crate::html::El;

pub(crate) mod axis;
pub(crate) mod band;
pub(crate) mod bar;
pub(crate) mod line;
pub(crate) mod rows;
pub(crate) mod scale;
pub(crate) mod scatter;

/// Width of the stretched user space.
pub(crate) const SPACE: f64 = 1000.0;

/// A coordinate in pixels, two decimals at most.
pub(crate) fn px(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let rounded = (value * 100.0).round() / 100.0;
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// A fraction of the plot's width.
pub(crate) fn pct(fraction: f64) -> String {
    format!("{}%", px(fraction * 100.0))
}

/// What stands around a picture: its name, what it shows in words, and its numbers.
#[derive(Debug)]
pub(crate) struct Figure {
    /// Unique on the page; a literal of ours.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// Unit or reading aid, beside the title.
    pub(crate) aside: String,
    /// The picture in words, for those who cannot see it.
    pub(crate) description: String,
    pub(crate) legend: Option<El>,
    /// How the script explores it: `line`, `marks`.
    pub(crate) explore: &'static str,
    /// What the script needs.
    pub(crate) data: Option<Value>,
    /// The numbers as a table.
    pub(crate) table: Option<El>,
}

impl Figure {
    /// Puts the frame around the picture. `svg` must not have a title of its own.
    pub(crate) fn frame(self, class: &str, height_px: f64, shapes: Vec<El>) -> El {
        let svg = self.svg().attr("height", px(height_px)).children(shapes);
        self.around(class, svg)
    }

    /// The `<svg>` with its role, title and description.
    pub(crate) fn svg(&self) -> El {
        let (title, desc) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        El::new("svg")
            .attr("role", "img")
            .attr("aria-labelledby", format!("{title} {desc}"))
            .child(El::new("title").attr("id", title).text(self.title.clone()))
            .child(El::new("desc").attr("id", desc).text(self.description.clone()))
    }

    /// The frame around an `<svg>` made by [`Self::svg`].
    pub(crate) fn around(self, class: &str, svg: El) -> El {
        let mut caption = El::new("figcaption").child(El::new("h3").text(self.title));
        if !self.aside.is_empty() {
            caption.push(El::new("span").class("aside").text(self.aside));
        }
        let mut plot = El::new("div")
            .class(format!("plot {class}"))
            .attr("data-explore", self.explore)
            .child(svg);
        if let Some(data) = self.data {
            plot.push(El::new("script").attr("type", "application/json").json(data));
        }
        let mut figure = El::new("figure").attr("id", self.id).child(caption);
        if let Some(legend) = self.legend {
            figure.push(legend);
        }
        figure.push(plot);
        if !self.explore.is_empty() {
            figure.push(El::new("p").class("readout").attr("aria-live", "polite"));
        }
        if let Some(table) = self.table {
            figure.push(
                El::new("details")
                    .class("data")
                    .child(El::new("summary").text("Data"))
                    .child(table),
            );
        }
        figure
    }
}

/// Text inside a drawing.
pub(crate) fn label(x: impl Into<String>, y_px: f64, anchor: &'static str, text: &str) -> El {
    El::new("text").attr("x", x).attr("y", px(y_px)).attr("text-anchor", anchor).text(text)
}

/// A straight line between two points.
pub(crate) fn segment(x1: &str, y1_px: f64, x2: &str, y2_px: f64) -> El {
    El::new("line").attr("x1", x1).attr("y1", px(y1_px)).attr("x2", x2).attr("y2", px(y2_px))
}

/// A rectangle that stretches with the plot.
pub(crate) fn block(from: f64, to: f64, y_px: f64, height_px: f64) -> El {
    El::new("rect")
        .attr("x", pct(from))
        .attr("y", px(y_px))
        .attr("width", pct((to - from).max(0.0)))
        .attr("height", px(height_px))
}

/// What a mark says when one points at it.
pub(crate) fn tip(text: impl Into<String>) -> El {
    El::new("title").text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_always_numbers() {
        assert_eq!(px(1.0 / 3.0), "0.33");
        assert_eq!(px(-0.001), "0");
        assert_eq!(px(f64::NAN), "0");
        assert_eq!(px(f64::INFINITY), "0");
        assert_eq!(pct(0.5), "50%");
    }
}

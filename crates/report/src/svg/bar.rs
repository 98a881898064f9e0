//! A small bar with an interval and a mark to compare with, for the cell of a table.

use super::{block, pct, scale::Scale, segment};
use crate::format;
use crate::html::El;

/// One value against a reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
    /// Where the value was before.
    pub(crate) before: Option<f64>,
}

impl Bar {
    /// Decoration only: the numbers stand beside it.
    pub(crate) fn draw(self, scale: Scale) -> El {
        let mut svg = El::new("svg")
            .class("bar")
            .attr("height", "16")
            .attr("aria-hidden", "true")
            .child(block(0.0, 1.0, 4.0, 8.0).class("track"))
            .child(block(0.0, scale.fraction(self.value), 4.0, 8.0).class("value"));
        if let Some([low, high]) = format::ordered(self.interval) {
            let (low, high) = (pct(scale.fraction(low)), pct(scale.fraction(high)));
            svg.push(segment(&low, 8.0, &high, 8.0).class("whisker"));
            svg.push(segment(&low, 5.0, &low, 11.0).class("whisker"));
            svg.push(segment(&high, 5.0, &high, 11.0).class("whisker"));
        }
        if let Some(before) = self.before {
            let at = pct(scale.fraction(before));
            svg.push(segment(&at, 0.0, &at, 16.0).class("before"));
        }
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_interval_and_reference() {
        let bar = Bar { value: 240.0, interval: Some([230.0, 250.0]), before: Some(150.0) };
        let markup = bar.draw(Scale::linear(0.0, 300.0)).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }

    #[test]
    fn without_a_number_there_is_an_empty_track() {
        let bar = Bar { value: f64::NAN, interval: Some([f64::NAN, 1.0]), before: None };
        let markup = bar.draw(Scale::linear(0.0, 300.0)).to_markup();
        assert!(markup.contains("width=\"0%\"") && !markup.contains("whisker"));
    }
}

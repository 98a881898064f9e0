//! Axes: ticks, grid lines and their labels.

use super::{label, pct, scale::Scale, segment};
use crate::html::El;

/// The plot area in pixels from the top of the drawing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) top: f64,
    pub(crate) height: f64,
}

impl Area {
    pub(crate) fn bottom(self) -> f64 {
        self.top + self.height
    }

    /// Where a value lies, from the top of the drawing.
    pub(crate) fn y(self, scale: Scale, value: f64) -> f64 {
        self.bottom() - scale.fraction(value) * self.height
    }
}

/// Horizontal grid lines with their values on the left.
pub(crate) fn vertical(scale: Scale, area: Area, print: fn(f64) -> String) -> Vec<El> {
    let ticks = scale.ticks(4);
    let every = ticks.len().div_ceil(6).max(1);
    let mut shapes = Vec::new();
    for value in ticks.into_iter().step_by(every) {
        let y = area.y(scale, value);
        shapes.push(segment("0", y, "100%", y).class("grid"));
        shapes.push(label("-8", y + 4.0, "end", &print(value)).class("tick"));
    }
    shapes
}

/// The base line with ticks and values under it. Every second value yields on a phone.
pub(crate) fn horizontal(scale: Scale, area: Area, print: fn(f64) -> String) -> Vec<El> {
    let y = area.bottom();
    let mut shapes = vec![segment("0", y, "100%", y).class("base")];
    let values: Vec<(f64, String)> = scale.ticks(12).into_iter().map(|v| (v, print(v))).collect();
    let crowded = values.len() > 5;
    for (place, (value, text)) in values.into_iter().enumerate() {
        let x = pct(scale.fraction(value));
        let class = if crowded && place % 2 == 1 { "tick roomy" } else { "tick" };
        shapes.push(segment(&x, y, &x, y + 4.0).class("base"));
        shapes.push(label(x, y + 18.0, "middle", &text).class(class));
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    #[test]
    fn horizontal_axis() {
        let area = Area { top: 10.0, height: 100.0 };
        let shapes = horizontal(Scale::linear(0.0, 30.0), area, format::number);
        insta::assert_snapshot!(El::group().children(shapes).to_markup().replace("><", ">\n<"));
    }

    #[test]
    fn vertical_axis_of_many_decades_has_few_labels() {
        let area = Area { top: 0.0, height: 100.0 };
        let scale = Scale::fitting([1e-9, 1e9].into_iter());
        assert!(vertical(scale, area, format::number).len() <= 12);
    }
}

//! A bar divided into bands, with marks on flags above it.

use super::axis::{self, Area};
use super::{block, label, pct, px, scale::Scale, segment, tip};
use crate::format;
use crate::html::El;

/// A stretch of the bar.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// `stable`, `vulnerable`, `overloaded`: colour and pattern, and the word in it.
    pub(crate) name: &'static str,
}

/// A value marked on the bar.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at: f64,
    pub(crate) interval: Option<[f64; 2]>,
    /// `hidden`, `advertised`, `load`.
    pub(crate) class: &'static str,
    pub(crate) text: String,
    /// More of it, where there is room.
    pub(crate) more: String,
}

/// A bar divided into bands.
#[derive(Debug)]
pub(crate) struct BandChart {
    pub(crate) scale: Scale,
    pub(crate) bands: Vec<Band>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) print_axis: fn(f64) -> String,
}

impl BandChart {
    pub(crate) fn height_px(&self) -> f64 {
        self.area().bottom() + 26.0
    }

    pub(crate) fn draw(&self) -> Vec<El> {
        let area = self.area();
        let mut shapes = vec![patterns()];
        for band in &self.bands {
            shapes.extend(self.band(band, area));
        }
        shapes.extend(axis::horizontal(self.scale, area, self.print_axis));
        for (row, mark) in self.rows().into_iter().enumerate() {
            let row = u32::try_from(row).unwrap_or(u32::MAX);
            shapes.push(self.mark(mark, f64::from(row) * ROW_PX, area));
        }
        shapes
    }

    fn area(&self) -> Area {
        let rows = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        Area { top: f64::from(rows) * ROW_PX + 8.0, height: BAR_PX }
    }

    fn band(&self, band: &Band, area: Area) -> Vec<El> {
        let (from, to) = (self.scale.fraction(band.from), self.scale.fraction(band.to));
        if to <= from {
            return Vec::new();
        }
        let says =
            format!("{}: {} to {}", band.name, format::rate(band.from), format::rate(band.to));
        let mut shapes = vec![
            block(from, to, area.top, area.height)
                .class(format!("band {}", band.name))
                .child(tip(says)),
            block(from, to, area.top, area.height)
                .class("hatch")
                .attr("fill", format!("url(#hatch-{})", band.name)),
        ];
        let needs = format::width_px(band.name, 12.0) + 8.0;
        if (to - from) * WIDE_PX >= needs {
            let roomy = if (to - from) * NARROW_PX >= needs { "" } else { " roomy" };
            let class = format!("on-band at-{}{roomy}", band.name);
            let middle = pct(f64::midpoint(from, to));
            shapes.push(
                label(middle, area.top + area.height / 2.0 + 4.0, "middle", band.name).class(class),
            );
        }
        shapes
    }

    /// Marks from the top row down, so that no flag lies across the pole of another: flags
    /// that point right (left half) first, from the left; then those that point left, from
    /// the right.
    fn rows(&self) -> Vec<&Mark> {
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by(|a, b| {
            let key = |m: &Mark| {
                let at = self.scale.fraction(m.at);
                if at <= 0.5 { (false, at) } else { (true, 1.0 - at) }
            };
            let ((side_a, at_a), (side_b, at_b)) = (key(a), key(b));
            side_a.cmp(&side_b).then(at_a.total_cmp(&at_b))
        });
        marks
    }

    fn mark(&self, mark: &Mark, top: f64, area: Area) -> El {
        let at = self.scale.fraction(mark.at);
        let x = pct(at);
        let (dx, anchor) = if at <= 0.5 { ("6", "start") } else { ("-6", "end") };
        let mut group = El::new("g")
            .class(format!("mark {}", mark.class))
            .attr("tabindex", "-1")
            .child(tip(format!("{}{}", mark.text, mark.more)))
            .child(segment(&x, top + 4.0, &x, area.bottom()).class("pole"))
            .child(
                label(x.clone(), top + 14.0, anchor, &mark.text)
                    .attr("dx", dx)
                    .class("halo")
                    .child(El::new("tspan").class("roomy").text(mark.more.clone())),
            );
        if let Some([low, high]) = format::ordered(mark.interval) {
            let (low, high) = (pct(self.scale.fraction(low)), pct(self.scale.fraction(high)));
            let middle = area.top + area.height - 8.0;
            for (x1, y1, x2, y2) in [
                (&low, middle, &high, middle),
                (&low, middle - 4.0, &low, middle + 4.0),
                (&high, middle - 4.0, &high, middle + 4.0),
            ] {
                group.push(segment(x1, y1, x2, y2).class("whisker"));
            }
        }
        group.push(
            El::new("circle")
                .attr("cx", x)
                .attr("cy", px(area.top))
                .attr("r", if mark.class == "load" { "5" } else { "3.5" })
                .class("knob"),
        );
        group
    }
}

/// Hatching, so that bands differ without colour.
fn patterns() -> El {
    let pattern = |name: &'static str, d: &'static str| {
        El::new("pattern")
            .attr("id", format!("hatch-{name}"))
            .attr("width", "8")
            .attr("height", "8")
            .attr("patternUnits", "userSpaceOnUse")
            .child(El::new("path").attr("d", d).class("hatch-line"))
    };
    El::new("defs")
        .child(pattern("stable", "M0 0"))
        .child(pattern("vulnerable", "M-2 2L2 -2M0 8L8 0M6 10L10 6"))
        .child(pattern("overloaded", "M0 0L8 8M0 8L8 0"))
}

const ROW_PX: f64 = 19.0;
const BAR_PX: f64 = 40.0;
/// The widest and narrowest plot that is laid out for.
const WIDE_PX: f64 = 960.0;
const NARROW_PX: f64 = 290.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(marks: &[(f64, &'static str)]) -> BandChart {
        BandChart {
            scale: Scale::linear(0.0, 330.0),
            bands: vec![
                Band { from: 0.0, to: 150.0, name: "stable" },
                Band { from: 150.0, to: 300.0, name: "vulnerable" },
                Band { from: 300.0, to: 330.0, name: "overloaded" },
            ],
            marks: marks
                .iter()
                .map(|(at, class)| Mark {
                    at: *at,
                    interval: Some([at - 3.0, at + 3.0]),
                    class,
                    text: (*class).to_owned(),
                    more: " (interval)".to_owned(),
                })
                .collect(),
            print_axis: format::rate,
        }
    }

    #[test]
    fn capacity_bar() {
        let chart = chart(&[(150.0, "hidden"), (300.0, "advertised"), (270.0, "load")]);
        let markup = El::group().children(chart.draw()).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }

    #[test]
    fn no_flag_crosses_the_pole_of_another() {
        let chart = chart(&[(270.0, "load"), (20.0, "hidden"), (300.0, "advertised")]);
        let rows: Vec<_> = chart.rows().iter().map(|m| m.class).collect();
        assert_eq!(rows, ["hidden", "advertised", "load"]);
    }

    #[test]
    fn a_narrow_band_keeps_its_name_for_the_legend() {
        let chart = chart(&[]);
        let markup = El::group().children(chart.draw()).to_markup();
        assert!(markup.contains("on-band at-overloaded roomy\">overloaded"));
    }
}

//! Numbered points in a plane, moved apart where they would cover each other.

use super::axis::{self, Area};
use super::{label, pct, px, scale::Scale, segment, tip};
use crate::format;
use crate::html::El;

/// One point.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// Printed in it, and in the table it belongs to.
    pub(crate) number: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) x_interval: Option<[f64; 2]>,
    pub(crate) y_interval: Option<[f64; 2]>,
    /// What it says when one points at it.
    pub(crate) says: String,
}

/// A plane of points.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) spots: Vec<Spot>,
    pub(crate) print_x: fn(f64) -> String,
    pub(crate) print_y: fn(f64) -> String,
    /// Under the horizontal axis.
    pub(crate) x_name: &'static str,
    /// Above the vertical one.
    pub(crate) y_name: &'static str,
}

impl Scatter {
    pub(crate) const HEIGHT_PX: f64 = AREA.top + AREA.height + 44.0;

    pub(crate) fn draw(&self) -> Vec<El> {
        let ends = |interval: Option<[f64; 2]>| interval.into_iter().flatten();
        let xs: Vec<f64> = self
            .spots
            .iter()
            .flat_map(|s| ends(s.x_interval).chain([s.x]))
            .collect();
        let ys: Vec<f64> = self
            .spots
            .iter()
            .flat_map(|s| ends(s.y_interval).chain([s.y]))
            .collect();
        let x = Scale::around_zero(xs.iter().copied());
        let y = Scale::around_zero(ys.iter().copied());

        let mut shapes = axis::vertical(y, AREA, self.print_y);
        shapes.extend(axis::horizontal(x, AREA, self.print_x));
        let zero = pct(x.fraction(0.0));
        shapes.push(segment(&zero, AREA.top, &zero, AREA.bottom()).class("zero"));
        shapes.push(segment("0", AREA.y(y, 0.0), "100%", AREA.y(y, 0.0)).class("zero"));
        shapes.push(label("0", AREA.top - 12.0, "start", self.y_name).class("note"));
        shapes.push(label("100%", AREA.bottom() + 36.0, "end", self.x_name).class("note"));

        let true_places: Vec<(f64, f64)> = self
            .spots
            .iter()
            .map(|s| (x.fraction(s.x), AREA.y(y, s.y)))
            .collect();
        let places = apart(&true_places);
        for (spot, (fraction, at_y)) in self.spots.iter().zip(&true_places) {
            shapes.extend(whiskers(spot, x, y, *fraction, *at_y));
        }
        for ((spot, (fraction, true_y)), place_y) in self.spots.iter().zip(&true_places).zip(places)
        {
            let at = pct(*fraction);
            let mut group = El::new("g")
                .class("spot")
                .attr("tabindex", "-1")
                .child(tip(&*spot.says));
            if (place_y - true_y).abs() > 0.5 {
                group.push(segment(&at, *true_y, &at, place_y).class("pole"));
                group.push(
                    El::new("circle")
                        .attr("cx", at.clone())
                        .attr("cy", px(*true_y))
                        .attr("r", "3")
                        .class("knob"),
                );
            }
            group.push(
                El::new("circle")
                    .attr("cx", at.clone())
                    .attr("cy", px(place_y))
                    .attr("r", px(RADIUS_PX))
                    .class("disc"),
            );
            group.push(label(at, place_y + 4.0, "middle", &spot.number.to_string()));
            shapes.push(group);
        }
        shapes
    }
}

fn whiskers(spot: &Spot, x: Scale, y: Scale, fraction: f64, at_y: f64) -> Vec<El> {
    let mut shapes = Vec::new();
    if let Some([low, high]) = format::ordered(spot.x_interval) {
        let (low, high) = (pct(x.fraction(low)), pct(x.fraction(high)));
        shapes.push(segment(&low, at_y, &high, at_y).class("whisker"));
    }
    if let Some([low, high]) = format::ordered(spot.y_interval) {
        let at = pct(fraction);
        shapes.push(segment(&at, AREA.y(y, low), &at, AREA.y(y, high)).class("whisker"));
    }
    shapes
}

/// New heights for points that would cover each other on a phone: the first keeps its place,
/// later ones go to the nearest free one above or below.
fn apart(places: &[(f64, f64)]) -> Vec<f64> {
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (x, y) in places {
        let free = |candidate: f64| {
            taken.iter().all(|(tx, ty)| {
                let (dx, dy) = ((tx - x) * NARROW_PX, ty - candidate);
                dx.hypot(dy) >= RADIUS_PX * 2.0 + 1.0
            })
        };
        let candidates = (0..60_u32).flat_map(|step| {
            let away = f64::from(step) * 4.0;
            [y + away, y - away]
        });
        let inside = |c: &f64| (AREA.top..=AREA.bottom()).contains(c);
        let place = candidates.filter(inside).find(|c| free(*c)).unwrap_or(*y);
        taken.push((*x, place));
    }
    taken.into_iter().map(|(_, y)| y).collect()
}

const AREA: Area = Area {
    top: 28.0,
    height: 240.0,
};
const RADIUS_PX: f64 = 10.0;
/// The narrowest plot that is laid out for.
const NARROW_PX: f64 = 270.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_points_are_moved_apart_and_stay_inside() {
        let heights = apart(&[(0.5, 30.0); 9]);
        for (i, a) in heights.iter().enumerate() {
            assert!((AREA.top..=AREA.bottom()).contains(a));
            for b in &heights[..i] {
                assert!((a - b).abs() >= 20.0, "{heights:?}");
            }
        }
        assert_eq!(heights[0], 30.0);
    }

    #[test]
    fn a_crowd_that_cannot_be_moved_apart_is_drawn_anyway() {
        assert_eq!(apart(&[(0.5, 100.0); 60]).len(), 60);
    }

    #[test]
    fn two_points() {
        let spot = |number, x, y| Spot {
            number,
            x,
            y,
            x_interval: Some([x - 0.1, x + 0.1]),
            y_interval: None,
            says: format!("remedy {number}"),
        };
        let scatter = Scatter {
            spots: vec![spot(1, 0.0, 100.0), spot(2, 0.9, 150.0)],
            print_x: format::number,
            print_y: format::rate,
            x_name: "price",
            y_name: "gain",
        };
        let markup = El::group().children(scatter.draw()).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }
}

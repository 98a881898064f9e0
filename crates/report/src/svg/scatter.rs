//! Numbered points in a plane, the numbers moved apart where they would cover each other.

use super::axis::{self, Area};
use super::{label, pct, px, scale::Scale, segment, tip};
use crate::format;
use crate::html::El;

/// One point.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// Printed beside it, and in the table it belongs to.
    pub(crate) number: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) x_interval: Option<[f64; 2]>,
    pub(crate) y_interval: Option<[f64; 2]>,
    /// What it says when one points at it.
    pub(crate) says: String,
}

/// A point without a number, behind the others.
#[derive(Clone, Debug)]
pub(crate) struct Faint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// What it says when one points at it.
    pub(crate) says: String,
}

/// A plane of points.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) spots: Vec<Spot>,
    pub(crate) others: Vec<Faint>,
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
        let xs: Vec<f64> =
            self.spots.iter().flat_map(|s| ends(s.x_interval).chain([s.x])).collect();
        let ys: Vec<f64> =
            self.spots.iter().flat_map(|s| ends(s.y_interval).chain([s.y])).collect();
        let xs: Vec<f64> = xs.into_iter().chain(self.others.iter().map(|o| o.x)).collect();
        let ys: Vec<f64> = ys.into_iter().chain(self.others.iter().map(|o| o.y)).collect();
        let x = Scale::around_zero(xs.iter().copied());
        let y = Scale::around_zero(ys.iter().copied());

        let mut shapes = axis::vertical(y, AREA, self.print_y);
        shapes.extend(axis::horizontal(x, AREA, self.print_x));
        let zero = pct(x.fraction(0.0));
        shapes.push(segment(&zero, AREA.top, &zero, AREA.bottom()).class("zero"));
        shapes.push(segment("0", AREA.y(y, 0.0), "100%", AREA.y(y, 0.0)).class("zero"));
        shapes.push(label("0", AREA.top - 12.0, "start", self.y_name).class("note"));
        shapes.push(label("100%", AREA.bottom() + 36.0, "end", self.x_name).class("note"));

        for other in &self.others {
            let dot = El::new("circle").attr("cx", pct(x.fraction(other.x)));
            let dot = dot.attr("cy", px(AREA.y(y, other.y))).attr("r", "3").class("faint");
            shapes.push(dot.child(tip(&*other.says)));
        }
        let places: Vec<(f64, f64)> =
            self.spots.iter().map(|s| (x.fraction(s.x), AREA.y(y, s.y))).collect();
        for (spot, (fraction, at_y)) in self.spots.iter().zip(&places) {
            shapes.extend(whiskers(spot, x, y, *fraction, *at_y));
        }
        let labels = beside(&places);
        for ((spot, place), (dx, dy)) in self.spots.iter().zip(&places).zip(labels) {
            shapes.push(mark(spot, *place, dx, dy));
        }
        shapes
    }
}

fn mark(spot: &Spot, (fraction, y): (f64, f64), dx: f64, dy: f64) -> El {
    let at = pct(fraction);
    let shift = format!("translate({} 0)", px(dx));
    let mut group = El::new("g").class("spot").attr("tabindex", "-1").child(tip(&*spot.says));
    if dy.abs() > 8.0 {
        // In a frame of its own at the dot, so that both ends are in pixels.
        let leader = segment("0", 0.0, &px(dx * 0.6), dy * 0.8).class("pole");
        let frame = El::new("svg").attr("x", at.clone()).attr("y", px(y));
        group.push(frame.attr("overflow", "visible").child(leader));
    }
    group.push(
        El::new("circle")
            .attr("cx", at.clone())
            .attr("cy", px(y))
            .attr("r", px(DOT_PX))
            .class("disc"),
    );
    group.child(
        label(at, y + dy + 4.5, "middle", &spot.number.to_string())
            .attr("transform", shift)
            .class("halo"),
    )
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

/// Where the number of each dot stands, as an offset from it: right or left of it, higher or
/// lower, at the nearest place where it covers neither a dot nor another number at any of
/// the widths that are laid out for.
fn beside(dots: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for (x, y) in dots {
        let free = |dx: f64, dy: f64| {
            let inside = (AREA.top - 8.0..=AREA.bottom() - 6.0).contains(&(y + dy));
            let clear = |width: f64, other: f64, shift: f64, other_y: f64, reach: f64| {
                let across = (other - x) * width + shift - dx;
                across.abs() >= reach || (other_y - y - dy).abs() >= reach
            };
            inside
                && WIDTHS_PX.iter().all(|w| {
                    dots.iter().all(|(ox, oy)| clear(*w, *ox, 0.0, *oy, DOT_PX + 7.0))
                        && taken.iter().all(|(ox, shift, oy)| clear(*w, *ox, *shift, *oy, 14.0))
                })
        };
        let offsets = (0..50_u32).flat_map(|step| {
            let away = f64::from(step) * 4.0;
            [(BESIDE_PX, -away), (-BESIDE_PX, -away), (BESIDE_PX, away), (-BESIDE_PX, away)]
        });
        let (dx, dy) =
            offsets.into_iter().find(|(dx, dy)| free(*dx, *dy)).unwrap_or((BESIDE_PX, 0.0));
        taken.push((*x, dx, y + dy));
    }
    taken.iter().zip(dots).map(|((_, dx, at), (_, y))| (*dx, at - y)).collect()
}

const AREA: Area = Area { top: 28.0, height: 240.0 };
const DOT_PX: f64 = 5.0;
const BESIDE_PX: f64 = 13.0;
/// Widths of the plot, from a phone to the widest page.
const WIDTHS_PX: [f64; 6] = [270.0, 330.0, 420.0, 560.0, 760.0, 960.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_equal_points_do_not_cover_each_other() {
        let offsets = beside(&[(0.5, 60.0); 9]);
        for (i, (ax, ay)) in offsets.iter().enumerate() {
            for (bx, by) in &offsets[..i] {
                assert!((ax - bx).abs() >= 14.0 || (ay - by).abs() >= 14.0, "{offsets:?}");
            }
        }
    }

    #[test]
    fn a_lone_point_has_its_number_at_its_right() {
        assert_eq!(beside(&[(0.5, 100.0)]), [(BESIDE_PX, 0.0)]);
    }

    #[test]
    fn a_crowd_without_room_is_drawn_anyway() {
        assert_eq!(beside(&[(0.5, 100.0); 90]).len(), 90);
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
            others: Vec::new(),
            print_x: format::number,
            print_y: format::rate,
            x_name: "price",
            y_name: "gain",
        };
        let markup = El::group().children(scatter.draw()).to_markup();
        insta::assert_snapshot!(markup.replace("><", ">\n<"));
    }
}

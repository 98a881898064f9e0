//! Smooth lines between points.

use crate::svg::px;

/// Points along a line.
pub(crate) type Curve = Vec<(f64, f64)>;

/// A smooth line through points: level at each of them.
pub(crate) fn through(route: &[(f64, f64)]) -> (String, Curve) {
    let mut d = String::new();
    let mut curve = Vec::new();
    for pair in route.windows(2) {
        let [(x1, y1), (x2, y2)] = pair else { continue };
        let middle = f64::midpoint(*x1, *x2);
        let points = [(*x1, *y1), (middle, *y1), (middle, *y2), (*x2, *y2)];
        let part = cubic(points);
        // The pen is already where the next part starts.
        let start = if d.is_empty() { 0 } else { part.find('C').unwrap_or_default() };
        d.push_str(part.get(start..).unwrap_or_default());
        curve.extend(samples(points));
    }
    (d, curve)
}

/// A cubic Bézier curve as a path.
pub(crate) fn cubic([a, b, c, d]: [(f64, f64); 4]) -> String {
    let at = |p: (f64, f64)| format!("{} {}", px(p.0), px(p.1));
    format!("M{}C{} {} {}", at(a), at(b), at(c), at(d))
}

/// Points along a cubic Bézier curve.
pub(crate) fn samples([a, b, c, d]: [(f64, f64); 4]) -> Curve {
    (0..=SAMPLES)
        .map(|k| {
            let t = f64::from(k) / f64::from(SAMPLES);
            let s = 1.0 - t;
            let mix = |a: f64, b: f64, c: f64, d: f64| {
                a * s * s * s + b * 3.0 * s * s * t + c * 3.0 * s * t * t + d * t * t * t
            };
            (mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1))
        })
        .collect()
}

/// Points along a curve, to keep labels off it.
const SAMPLES: u32 = 48;

/// Straight pieces with rounded corners.
pub(crate) fn polyline(points: &[(f64, f64)]) -> (String, Curve) {
    let mut d = String::new();
    let mut curve = Vec::new();
    for (i, at) in points.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|b| points.get(b));
        if let Some(before) = before {
            curve.extend(
                (0..=SAMPLES).map(|k| between(*before, *at, f64::from(k) / f64::from(SAMPLES))),
            );
        }
        match (before, points.get(i + 1)) {
            (None, _) => d.push_str(&format!("M{} {}", px(at.0), px(at.1))),
            (Some(_), None) => d.push_str(&format!("L{} {}", px(at.0), px(at.1))),
            (Some(before), Some(after)) => {
                let (start, end) = (short_of(*at, *before), short_of(*at, *after));
                d.push_str(&format!(
                    "L{} {}Q{} {} {} {}",
                    px(start.0),
                    px(start.1),
                    px(at.0),
                    px(at.1),
                    px(end.0),
                    px(end.1)
                ));
            }
        }
    }
    (d, curve)
}

/// A point on the way from a corner, where its rounding starts.
fn short_of(corner: (f64, f64), towards: (f64, f64)) -> (f64, f64) {
    let length = (towards.0 - corner.0).hypot(towards.1 - corner.1);
    if length <= 0.0 {
        return corner;
    }
    between(corner, towards, (CORNER_PX / length).min(0.5))
}

fn between(a: (f64, f64), b: (f64, f64), share: f64) -> (f64, f64) {
    (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share)
}

const CORNER_PX: f64 = 9.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_rounded() {
        let (d, curve) = polyline(&[(0.0, 0.0), (50.0, 0.0), (50.0, 50.0)]);
        assert_eq!(d, "M0 0L41 0Q50 0 50 9L50 50");
        assert_eq!(curve.last(), Some(&(50.0, 50.0)));
    }

    #[test]
    fn a_line_without_length_is_no_trouble() {
        let (d, _) = polyline(&[(1.0, 1.0); 3]);
        assert_eq!(d, "M1 1L1 1Q1 1 1 1L1 1");
        assert_eq!(polyline(&[]).0, "");
        assert_eq!(through(&[(0.0, 0.0)]).0, "");
    }

    #[test]
    fn parts_of_a_route_join() {
        let (d, _) = through(&[(0.0, 0.0), (10.0, 5.0), (20.0, 5.0)]);
        assert_eq!(d, "M0 0C5 0 5 5 10 5C15 5 15 5 20 5");
    }
}

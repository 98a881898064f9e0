//! The one zero of a falling function on an interval, by bracketing.

/// Where `f` crosses zero between `low`, where it is not below 0, and `high`, where it is not
/// above 0.
///
/// False position with the Anderson–Björck correction; a step that does not halve the bracket
/// twice in a row is followed by bisection, so that no shape of `f` makes it slow. A value that
/// is not a number counts as below zero, which keeps the bracket finite.
pub(crate) fn falling(low: f64, high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (mut a, mut b) = (low, high);
    let mut fa = f(a);
    if fa <= 0.0 {
        return a;
    }
    let mut fb = f(b);
    if fb >= 0.0 {
        return b;
    }
    let mut slow = 0;
    for _ in 0..300 {
        let width = b - a;
        let inside = (a * fb - b * fa) / (fb - fa);
        let x = if slow < 2 && inside > a && inside < b { inside } else { a + 0.5 * width };
        if x <= a || x >= b || width <= 2.0 * f64::EPSILON * b.abs() {
            return x;
        }
        let fx = f(x);
        if fx == 0.0 {
            return x;
        }
        if fx > 0.0 {
            fb *= shrink(fx, fa);
            (a, fa) = (x, fx);
        } else {
            fa *= shrink(fx, fb);
            (b, fb) = (x, fx);
        }
        slow = if b - a > 0.5 * width { slow + 1 } else { 0 };
    }
    a + 0.5 * (b - a)
}

/// Newton's steps before bracketing takes over.
const STEPS: usize = 12;

/// The same between 0 and 1 for an `f` that also says its slope, from a place near the zero.
///
/// Newton's steps for as long as they stay in the bracket that the values seen make up, which
/// they do near the zero; elsewhere false position, which needs no start. A step by `step` of what
/// it comes to is the last: the next would be about its square.
pub(super) fn falling_near(start: f64, step: f64, mut f: impl FnMut(f64) -> (f64, f64)) -> f64 {
    let (mut low, mut high, mut x) = (0.0, 1.0, start);
    for _ in 0..STEPS {
        let (value, slope) = f(x);
        if value == 0.0 {
            return x;
        }
        if value > 0.0 {
            low = x;
        } else {
            high = x;
        }
        let next = x - value / slope;
        let inside = slope < 0.0 && next >= low && next <= high;
        if !inside {
            break;
        }
        let moved = (next - x).abs();
        x = next;
        if moved <= step * x {
            return x;
        }
    }
    falling(low, high, |x| f(x).0)
}

/// How much the value at the end that stayed is taken down, so that the next step passes the zero.
fn shrink(new: f64, replaced: f64) -> f64 {
    let kept = 1.0 - new / replaced;
    if kept > 0.0 { kept } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_zeros_of_hard_shapes_in_few_steps() {
        for target in [1e-12_f64, 0.3, 0.999_999] {
            let shapes: [&dyn Fn(f64) -> f64; 4] = [
                &|x| target - x,
                &|x| if x < target { 1.0 } else { -1e-9 },
                &|x| libm::pow(target, 9.0) - libm::pow(x, 9.0),
                &|x| libm::exp(50.0 * (target - x)) - 1.0,
            ];
            for (n, shape) in shapes.iter().enumerate() {
                let mut calls = 0;
                let found = falling(0.0, 1.0, |x| {
                    calls += 1;
                    shape(x)
                });
                assert!((found - target).abs() < 1e-9, "shape {n} at {target}: {found}");
                assert!(calls < 160, "shape {n} at {target}: {calls} steps");
            }
        }
    }

    #[test]
    fn newton_finds_the_same_from_anywhere() {
        for target in [1e-12_f64, 0.3, 0.999_999] {
            for start in [0.0, 1e-9, 0.5, 1.0] {
                let bent = |x: f64| (libm::pow(target, 3.0) - x * x * x, -3.0 * x * x);
                assert!((falling_near(start, 1e-10, bent) - target).abs() < 1e-9, "{start}");
                let wrong = |x: f64| (target - x, 1.0);
                assert!((falling_near(start, 1e-10, wrong) - target).abs() < 1e-12);
                let none = |x: f64| (target - x, f64::NAN);
                assert!((falling_near(start, 1e-10, none) - target).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn ends_where_there_is_no_crossing() {
        assert_eq!(falling(0.0, 1.0, |_| 1.0), 1.0);
        assert_eq!(falling(0.0, 1.0, |_| -1.0), 0.0);
        assert!(falling(0.0, 1.0, |x| if x < 0.5 { 1.0 } else { f64::NAN }).is_finite());
    }
}

//! An exponential average that starts as a plain mean.
//!
//! Source: Netflix `ExpAvgMeasurement` and failsafe-go's `ewma`, which are the same.

/// The plain mean of the first ten values, then exponential with factor `2 / (window + 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Average {
    value: f64,
    sum: f64,
    count: u32,
    factor: f64,
}

impl Average {
    /// Values that are averaged plainly, in both publications.
    const WARM_UP: u32 = 10;

    pub(super) fn new(window: u32) -> Self {
        Self { value: 0.0, sum: 0.0, count: 0, factor: 2.0 / (f64::from(window) + 1.0) }
    }

    #[inline]
    pub(super) fn add(&mut self, x: f64) -> f64 {
        if self.count < Self::WARM_UP {
            self.count += 1;
            self.sum += x;
            self.value = self.sum / f64::from(self.count);
        } else {
            self.value = self.value * (1.0 - self.factor) + x * self.factor;
        }
        self.value
    }

    /// Multiplies the value. As published this does not touch the sum of the warm-up, so during
    /// it the next value undoes the change.
    #[inline]
    pub(super) fn scale(&mut self, by: f64) {
        self.value *= by;
    }

    #[inline]
    pub(super) fn value(&self) -> f64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_plainly_and_then_exponentially() {
        let mut a = Average::new(9);
        for (i, want) in [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5].into_iter().enumerate()
        {
            assert_eq!(a.add(i as f64 + 1.0), want);
        }
        assert_eq!(a.add(10.5), 5.5 * 0.8 + 10.5 * 0.2, "the factor of a window of 9 is 0.2");
        a.scale(0.5);
        assert_eq!(a.value(), 3.25);
    }

    #[test]
    fn a_change_during_the_warm_up_is_undone() {
        let mut a = Average::new(600);
        a.add(10.0);
        a.scale(0.95);
        assert_eq!(a.value(), 9.5);
        assert_eq!(a.add(10.0), 10.0);
    }
}

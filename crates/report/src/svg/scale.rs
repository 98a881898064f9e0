//! From a value to a place on an axis, and where its ticks stand.

/// A linear or logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// From `low` to `high`; widened where it would be empty.
    pub(crate) fn linear(low: f64, high: f64) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high.is_finite() && high > low { high } else { low + 1.0 };
        Self { low, high, log: false }
    }

    /// From zero to a round number at or above `high`.
    pub(crate) fn from_zero(high: f64) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = nice_step(high / 4.0);
        Self::linear(0.0, (high * (1.0 - 1e-9) / step).ceil() * step)
    }

    /// Over all values and zero, its ends on round numbers.
    pub(crate) fn around_zero(values: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = values.filter(|v| v.is_finite());
        let low = finite.clone().fold(0.0, f64::min);
        let high = finite.fold(0.0, f64::max);
        let step = nice_step((high - low) / 4.0);
        Self::linear(
            (low * (1.0 - 1e-9) / step).floor() * step,
            (high * (1.0 - 1e-9) / step).ceil() * step,
        )
    }

    /// Linear, or logarithmic if the values span more than three decades.
    pub(crate) fn fitting(values: impl Iterator<Item = f64> + Clone) -> Self {
        let positive = values.filter(|v| v.is_finite() && *v > 0.0);
        let high = positive.clone().fold(0.0, f64::max);
        let low = positive.fold(f64::INFINITY, f64::min);
        if low.is_finite() && high / low > 1000.0 {
            let floor = low.max(high * 1e-6).log10().floor();
            let ceiling = (high * (1.0 - 1e-9)).log10().ceil();
            Self { low: 10_f64.powf(floor), high: 10_f64.powf(ceiling), log: true }
        } else {
            Self::from_zero(high)
        }
    }

    pub(crate) fn is_log(self) -> bool {
        self.log
    }

    pub(crate) fn low(self) -> f64 {
        self.low
    }

    pub(crate) fn high(self) -> f64 {
        self.high
    }

    /// Where the value is, from 0 (low) to 1 (high). What lies outside is put on the edge.
    pub(crate) fn fraction(self, value: f64) -> f64 {
        let fraction = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round values, about `count` of them (on a logarithmic axis one per decade).
    pub(crate) fn ticks(self, count: u32) -> Vec<f64> {
        let mut ticks = Vec::new();
        if self.log {
            let mut at = self.low;
            while at <= self.high * 1.001 && ticks.len() < 20 {
                ticks.push(at);
                at *= 10.0;
            }
            return ticks;
        }
        let step = nice_step((self.high - self.low) / f64::from(count.max(1)));
        let mut k = (self.low / step - 1e-9).ceil();
        while k * step <= self.high + step * 1e-6 && ticks.len() < 50 {
            ticks.push(k * step);
            k += 1.0;
        }
        ticks
    }
}

/// The nearest of 1, 2, 5 times a power of ten at or above the wish.
fn nice_step(wish: f64) -> f64 {
    if !wish.is_finite() || wish <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(wish.log10().floor());
    let digit = wish / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|n| digit <= n * 1.000_001).unwrap_or(10.0);
    nice * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::linear(0.0, 330.0).ticks(6), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(
            Scale::linear(30.0, 182.0).ticks(8),
            [40.0, 60.0, 80.0, 100.0, 120.0, 140.0, 160.0, 180.0]
        );
        assert_eq!(Scale::from_zero(571.0).high(), 600.0);
        assert_eq!(Scale::from_zero(0.0).high(), 1.0);
    }

    #[test]
    fn a_wide_span_becomes_logarithmic() {
        let wide = Scale::fitting([0.002, 60.0, 0.0].into_iter());
        assert!(wide.is_log());
        assert_eq!(wide.ticks(5).len(), 6, "{:?}", wide.ticks(5));
        assert_eq!(wide.fraction(0.0), 0.0);
        assert!((wide.fraction(0.1) - 0.4).abs() < 1e-9);
        assert!(!Scale::fitting([1.0, 60.0].into_iter()).is_log());
    }

    #[test]
    fn nothing_hostile_gives_nan_or_hangs() {
        let hostile = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, 1e-300];
        for a in hostile {
            for b in hostile {
                for scale in
                    [Scale::linear(a, b), Scale::from_zero(b), Scale::fitting([a, b].into_iter())]
                {
                    assert!(scale.ticks(8).len() <= 50);
                    for v in hostile {
                        let f = scale.fraction(v);
                        assert!((0.0..=1.0).contains(&f), "{scale:?} {v} {f}");
                    }
                }
            }
        }
    }
}

//! Time as an integer count of nanoseconds.

use core::fmt;
use core::ops::{Add, Sub};

/// A span of time, or an instant since an origin that the caller chooses, in nanoseconds.
///
/// Arithmetic saturates: 2^64 ns are 584 years, and a control must not panic or wrap
/// because somebody configured a longer delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span; used as "never".
    pub const MAX: Self = Self(u64::MAX);

    /// `s` whole seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// `ms` whole milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// `s` seconds, rounded to the nearest nanosecond. Negative and NaN give zero.
    #[must_use]
    pub const fn from_secs_f64(s: f64) -> Self {
        // A float-to-integer cast saturates, and maps NaN to zero.
        Self((s * 1e9 + 0.5) as u64)
    }

    /// The span in seconds.
    #[inline]
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - earlier`, or zero if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The span times a factor, saturating. Negative and NaN factors give zero.
    #[must_use]
    pub const fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        self.since(rhs)
    }
}

impl fmt::Display for Nanos {
    /// Prints in the largest unit that keeps the number at one or above: `2s`, `25ms`, `1.5us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0 => return f.write_str("0s"),
            1_000_000_000.. => (ns / 1e9, "s"),
            1_000_000.. => (ns / 1e6, "ms"),
            1_000.. => (ns / 1e3, "us"),
            _ => (ns, "ns"),
        };
        write!(f, "{value}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos(1) - Nanos(2), Nanos::ZERO);
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::INFINITY), Nanos::MAX);
    }

    #[test]
    fn prints_with_its_unit() {
        assert_eq!(Nanos::from_secs(2).to_string(), "2s");
        assert_eq!(Nanos::from_millis(25).to_string(), "25ms");
        assert_eq!(Nanos(1_500).to_string(), "1.5us");
        assert_eq!(Nanos::ZERO.to_string(), "0s");
    }
}

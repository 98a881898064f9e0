//! A percentage in whole numbers, so that 30 % is 30 %.
//!
//! In binary floating point 58 % of 50 is 28.999…, and by truncation of a reciprocal 40 % becomes
//! one half. Here a percentage has three decimals and everything is a product of integers.

/// A percentage in thousandths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share(u32);

/// What one whole is, in the unit of a [`Share`].
pub(super) const WHOLE: u64 = 100_000;

impl Share {
    /// From `percent` in 0..=`max`, rounded to three decimals. `None` if it is out of range, not a
    /// number, or positive and yet rounds to nothing.
    pub(super) fn try_new(percent: f64, max: f64) -> Option<Self> {
        let valid = (0.0..=max).contains(&percent);
        let thousandths = libm::round(percent * 1000.0) as u32;
        (valid && (thousandths > 0 || percent == 0.0)).then_some(Self(thousandths))
    }

    /// The share of `n`, in units of 1 / [`WHOLE`].
    #[inline]
    pub(super) const fn of(self, n: u64) -> u64 {
        n.saturating_mul(self.0 as u64)
    }

    /// The share of `n`, whole ones only.
    #[inline]
    pub(super) const fn whole_of(self, n: u64) -> u64 {
        self.of(n) / WHOLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_for_every_whole_percentage() {
        for percent in 0..=100u32 {
            let share = Share::try_new(f64::from(percent), 100.0).unwrap();
            for n in 0..=1000 {
                assert_eq!(share.whole_of(n), n * u64::from(percent) / 100, "{percent} % of {n}");
            }
        }
        assert_eq!(Share::try_new(33.333, 100.0).unwrap().of(3), 99_999);
        assert_eq!(Share::try_new(100.0, 100.0).unwrap().of(u64::MAX), u64::MAX);
    }

    #[test]
    fn refuses_what_is_no_percentage() {
        for percent in [-1.0, 100.1, f64::NAN, f64::INFINITY, 0.0001, -0.001] {
            assert_eq!(Share::try_new(percent, 100.0), None, "{percent}");
        }
    }
}

//! Whose request it is, as far as a control cares.

/// Cohorts within a class: DAGOR's user priorities and Cinnamon's cohorts have 128.
pub const COHORTS: u32 = 128;

/// Most priority classes that a control tells apart; a class beyond is taken for the lowest.
pub const CLASSES: usize = 16;

/// The class of a request and the flow (user, tenant, client) that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Who {
    /// Its priority class; 0 is the highest.
    pub class: u8,
    /// A hash of whom it comes from. Equal for all requests of one flow.
    pub flow: u64,
}

impl Who {
    /// Somebody of this class.
    #[must_use]
    pub const fn of(class: u8) -> Self {
        Self { class, flow: 0 }
    }

    /// The class as an index below [`CLASSES`].
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        if (self.class as usize) < CLASSES { self.class as usize } else { CLASSES - 1 }
    }

    /// The cohort, `0..128`: one flow is always in the same.
    #[inline]
    #[must_use]
    pub const fn cohort(self) -> u32 {
        // The top bits of a multiplication mix all bits of the flow.
        (self.flow.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as u32
    }

    /// Priority over all classes and cohorts: `class × 128 + cohort`; 0 is the most important.
    #[inline]
    #[must_use]
    pub const fn rank(self) -> u32 {
        self.index() as u32 * COHORTS + self.cohort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_comes_before_every_cohort() {
        for flow in [0, 1, 77, u64::MAX] {
            assert!(Who { class: 0, flow }.rank() < Who { class: 1, flow: 0 }.rank());
            assert!(Who { class: 3, flow }.cohort() < COHORTS);
        }
        assert_eq!(Who::of(200).index(), CLASSES - 1);
    }

    #[test]
    fn flows_spread_over_cohorts() {
        let mut seen = [0u32; COHORTS as usize];
        for flow in 0..12_800 {
            seen[Who { class: 0, flow }.cohort() as usize] += 1;
        }
        assert!(seen.iter().all(|n| (80..=120).contains(n)), "{seen:?}");
    }
}

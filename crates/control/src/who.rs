//! Whose request it is, as far as a control cares.

use crate::Nanos;

const HOUR: u64 = 3_600_000_000_000;

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
    /// The cohort, where somebody before has said it, so that every service refuses the same users
    /// whatever its clock says; `None`: it is that of the flow.
    pub user: Option<u8>,
}

impl Who {
    /// Somebody of this class.
    #[must_use]
    pub const fn of(class: u8) -> Self {
        Self { class, flow: 0, user: None }
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
        if let Some(user) = self.user {
            return user as u32 % COHORTS;
        }
        // The top bits of a multiplication mix all bits of the flow.
        (self.flow.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as u32
    }

    /// Priority over all classes and cohorts: `class × 128 + cohort`; 0 is the most important.
    #[inline]
    #[must_use]
    pub const fn rank(self) -> u32 {
        self.index() as u32 * COHORTS + self.cohort()
    }

    /// The cohort in the hour of `now`: flows are dealt anew every hour, so that nobody is always
    /// among the first to be shed. In the first hour it is [`Who::cohort`].
    ///
    /// Whoever compares such cohorts must count `now` from the same origin.
    #[inline]
    #[must_use]
    pub const fn cohort_at(self, now: Nanos) -> u32 {
        let hour = now.0 / HOUR;
        if hour == 0 || self.user.is_some() {
            return self.cohort();
        }
        // The finaliser of SplitMix64, because an hour added before one multiplication would only
        // shift all cohorts alike, and neighbours would stay neighbours.
        let mut x = self.flow ^ hour.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self { flow: x ^ (x >> 31), ..self }.cohort()
    }

    /// [`Who::rank`] with the cohort of the hour.
    #[inline]
    #[must_use]
    pub const fn rank_at(self, now: Nanos) -> u32 {
        self.index() as u32 * COHORTS + self.cohort_at(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_comes_before_every_cohort() {
        for flow in [0, 1, 77, u64::MAX] {
            assert!(
                Who { class: 0, flow, user: None }.rank()
                    < Who { class: 1, flow: 0, user: None }.rank()
            );
            assert!(Who { class: 3, flow, user: None }.cohort() < COHORTS);
        }
        assert_eq!(Who::of(200).index(), CLASSES - 1);
    }

    #[test]
    fn a_cohort_that_was_said_holds_at_any_hour() {
        let said = Who { class: 2, flow: 77, user: Some(5) };
        for now in [Nanos::ZERO, Nanos(HOUR * 9), Nanos::MAX] {
            assert_eq!((said.cohort_at(now), said.rank_at(now)), (5, 2 * COHORTS + 5));
        }
        assert_eq!(said.rank(), 2 * COHORTS + 5);
        assert!(Who { user: Some(200), ..said }.cohort() < COHORTS);
    }

    #[test]
    fn flows_spread_over_cohorts() {
        let mut seen = [0u32; COHORTS as usize];
        for flow in 0..12_800 {
            seen[Who { class: 0, flow, user: None }.cohort() as usize] += 1;
        }
        assert!(seen.iter().all(|n| (80..=120).contains(n)), "{seen:?}");
    }

    #[test]
    fn cohorts_are_dealt_anew_every_hour() {
        let hour = |n: u64| Nanos(n * HOUR);
        for flow in 0..1000 {
            let who = Who { class: 2, flow, user: None };
            assert_eq!(who.rank_at(Nanos(HOUR - 1)), who.rank(), "the first hour");
            assert_eq!(who.cohort_at(hour(7)), who.cohort_at(Nanos(8 * HOUR - 1)));
            assert_eq!(who.rank_at(Nanos::MAX) / COHORTS, 2);
        }
        let mut seen = [0u32; COHORTS as usize];
        let (mut stay, mut together) = (0, 0);
        for flow in 0..12_800 {
            let who = Who { class: 0, flow, user: None };
            seen[who.cohort_at(hour(1)) as usize] += 1;
            stay += u32::from(who.cohort_at(hour(1)) == who.cohort_at(hour(2)));
            let next = Who { class: 0, flow: flow + 128, user: None };
            together += u32::from(
                who.cohort_at(hour(1)).abs_diff(next.cohort_at(hour(1)))
                    == who.cohort_at(hour(2)).abs_diff(next.cohort_at(hour(2))),
            );
        }
        assert!(seen.iter().all(|n| (60..=145).contains(n)), "{seen:?}");
        // One in 128 would stay by chance: 100 of them.
        assert!((60..=145).contains(&stay), "{stay}");
        assert!(together < 400, "{together}");
    }
}

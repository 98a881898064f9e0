//! Per-attempt timeouts against an overall deadline, and deadlines that travel.
//!
//! Source: Site Reliability Engineering, chapter 22 ("deadline propagation"); gRPC's
//! deadlines. A deadline is an instant; it travels with the call, and every hop takes the
//! earlier of its own and the one it was given.

use crate::Nanos;

/// When an attempt that starts at `now` is given up: the earlier of its own timeout and the
/// deadline. `None` if neither bounds it.
#[inline]
#[must_use]
pub fn gives_up_at(now: Nanos, timeout: Option<Nanos>, deadline: Option<Nanos>) -> Option<Nanos> {
    match (timeout.map(|t| now + t), deadline) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Whether an attempt that starts at `start` and needs at least `needs` can end before the
/// deadline. An attempt that cannot is not worth sending.
#[inline]
#[must_use]
pub fn can_finish(start: Nanos, needs: Nanos, deadline: Option<Nanos>) -> bool {
    deadline.is_none_or(|d| start + needs < d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_bound_wins() {
        let at = |t, d| gives_up_at(Nanos(100), t, d);
        assert_eq!(at(Some(Nanos(50)), Some(Nanos(120))), Some(Nanos(120)));
        assert_eq!(at(Some(Nanos(10)), Some(Nanos(120))), Some(Nanos(110)));
        assert_eq!(at(None, Some(Nanos(120))), Some(Nanos(120)));
        assert_eq!(at(None, None), None);
    }

    #[test]
    fn an_attempt_that_cannot_finish_is_not_sent() {
        assert!(can_finish(Nanos(100), Nanos(19), Some(Nanos(120))));
        assert!(!can_finish(Nanos(100), Nanos(20), Some(Nanos(120))));
        assert!(can_finish(Nanos(100), Nanos(u64::MAX), None));
    }
}

//! Per-attempt timeouts against an overall deadline, and deadlines that travel.
//!
//! Source: Site Reliability Engineering, chapter 22 ("deadline propagation"); gRPC's
//! deadlines, which cover all attempts and waits and know no timeout of one attempt (A6);
//! Envoy's route timeouts. A deadline is an instant; it travels with the call, and every hop
//! takes the earlier of its own and the one it was given.

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

/// The timeout of one attempt as Envoy applies it: one that is not shorter than the timeout of
/// the whole request is ignored. `None` or zero is unset, for either.
///
/// With the timeout of an attempt ignored or unset, only the request's own is left, and a
/// request that has run into that one is over: it is never retried after a timeout.
#[inline]
#[must_use]
pub fn envoy_per_try(per_try: Option<Nanos>, overall: Option<Nanos>) -> Option<Nanos> {
    let bounded = overall.filter(|o| *o > Nanos::ZERO);
    per_try.filter(|p| *p > Nanos::ZERO && bounded.is_none_or(|o| *p < o))
}

/// What is left at `now` for whoever is called next, less an allowance for the way there and
/// back. `None`: nothing, so the call is not worth making.
///
/// To cap what is handed on, take [`gives_up_at`] with the cap as its timeout.
#[inline]
#[must_use]
pub fn left(now: Nanos, deadline: Nanos, allowance: Nanos) -> Option<Nanos> {
    let left = deadline.since(now).since(allowance);
    (left > Nanos::ZERO).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

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
        assert!(!can_finish(Nanos::MAX, Nanos::MAX, Some(Nanos::MAX)));
    }

    #[test]
    fn envoy_ignores_an_attempt_timeout_that_is_not_shorter() {
        for (per_try, overall, effective) in [
            (Some(S(3)), Some(S(15)), Some(S(3))),
            (Some(S(15)), Some(S(15)), None),
            (Some(S(16)), Some(S(15)), None),
            (Some(S(16)), Some(S(0)), Some(S(16))),
            (Some(S(16)), None, Some(S(16))),
            (Some(S(0)), Some(S(15)), None),
            (None, Some(S(15)), None),
        ] {
            assert_eq!(envoy_per_try(per_try, overall), effective, "{per_try:?} {overall:?}");
        }
    }

    /// The example of the SRE book: 30 s at the top; the first server takes 7 s, the next 4 s.
    #[test]
    fn a_deadline_travels() {
        let deadline = S(30);
        assert_eq!(left(S(7), deadline, Nanos::ZERO), Some(S(23)));
        assert_eq!(left(S(7) + S(4), deadline, Nanos::ZERO), Some(S(19)));
        let transit = Nanos::from_millis(200);
        assert_eq!(left(S(7), deadline, transit), Some(Nanos::from_millis(22_800)));
        assert_eq!(left(S(30), deadline, Nanos::ZERO), None);
        assert_eq!(left(Nanos::from_millis(29_800), deadline, transit), None);
        assert_eq!(left(Nanos::MAX, deadline, transit), None);
        let capped = gives_up_at(S(7), Some(S(10)), Some(deadline)).unwrap();
        assert_eq!(left(S(7), capped, Nanos::ZERO), Some(S(10)));
    }
}

//! Time and chance, which the controls want as arguments.
#![allow(clippy::disallowed_types)] // this is where the clocks of this crate are read

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::time::Duration;

use damper_control::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use tokio::time::Instant;

/// The origin of [`Nanos`] in this process: one for all layers, so that an instant which one of
/// them names means the same to another. It lies a little before the first use, because a paused
/// clock of a test may stand before it.
fn origin() -> Instant {
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    let origin = ORIGIN.get_or_init(|| {
        let now = std::time::Instant::now();
        now.checked_sub(Duration::from_secs(1)).unwrap_or(now)
    });
    Instant::from_std(*origin)
}

/// The time now. It is tokio's, so that tests can pause it.
#[inline]
#[must_use]
pub fn now() -> Nanos {
    nanos(Instant::now())
}

/// An instant as the controls count it.
#[inline]
#[must_use]
pub fn nanos(at: Instant) -> Nanos {
    span(at.saturating_duration_since(origin()))
}

/// A span of time as the controls count it.
#[inline]
#[must_use]
pub fn span(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// A span of time as tokio counts it.
#[inline]
#[must_use]
pub fn duration(span: Nanos) -> Duration {
    Duration::from_nanos(span.0)
}

/// The time since 1970, for dates that others write.
pub(crate) fn since_1970() -> Nanos {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    span(now.unwrap_or(Duration::ZERO))
}

/// The furthest a timer is set; beyond it nothing waits anyway.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// An instant for a timer.
pub(crate) fn instant(at: Nanos) -> Instant {
    let wait = duration(at.since(now())).min(FAR);
    Instant::now() + wait
}

/// Chance for the controls: fast, not secret, seeded anew for each layer.
pub(crate) type Chance = Xoshiro256PlusPlus;

/// A seed that nobody chose.
pub(crate) fn chance() -> Chance {
    Chance::seed_from_u64(RandomState::new().hash_one(0u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn instants_survive_the_way_there_and_back() {
        let before = now();
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!(now().since(before), Nanos::from_millis(1500));
        assert_eq!(instant(now() + Nanos(7)), Instant::now() + Duration::from_nanos(7));
        assert_eq!(instant(Nanos::MAX), Instant::now() + FAR, "no timer overflows");
        assert_eq!(span(Duration::MAX), Nanos::MAX);
    }
}

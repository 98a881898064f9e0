//! The clock of a process: what [`damper_control`] calls time, from the start of the process.

use damper_control::Nanos;
use tokio::time::Instant;

/// A start, from which time counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Nanos {
        Nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Waits until `at`, on a timer that ticks in milliseconds.
    pub(crate) async fn sleep_until(self, at: Nanos) {
        let wait = at.since(self.now());
        if wait > Nanos::ZERO {
            tokio::time::sleep(std::time::Duration::from_nanos(wait.0)).await;
        }
    }
}

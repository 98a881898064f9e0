//! What callers do after an attempt that did not end well: their retries are part of a load.

use damper_control::budget::Budget;
use damper_control::{Backoff, Jitter, Nanos, Retry, RetryLimits, RetryOn};
use damper_system::model::Policy;

/// How callers call: the same decisions as in the simulator, the layers and an emulation.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Limits by class, conditions, backoff.
    pub retry: Retry,
    /// The budget in its initial state, shared by all calls of the load.
    pub budget: Budget,
    /// How long one attempt is waited for; `None`: as long as the call is.
    pub timeout: Option<Nanos>,
    /// How long a call is waited for over all of its attempts; `None`: as the patience of the
    /// bounds says, which holds in any case.
    pub deadline: Option<Nanos>,
    /// A retry that could not last as long as this before the deadline is not sent.
    pub needs: Nanos,
    /// Whether `Retry-After` and `grpc-retry-pushback-ms` are done as they say.
    pub heeds_pushback: bool,
}

impl Caller {
    /// Never retries.
    #[must_use]
    pub fn without_retries() -> Self {
        Self {
            retry: Retry::never(),
            budget: Budget::NONE,
            timeout: None,
            deadline: None,
            needs: Nanos::ZERO,
            heeds_pushback: false,
        }
    }

    /// So many retries, at once, after whatever went wrong: what a loop around a call does.
    #[must_use]
    pub fn naive(limit: u32) -> Self {
        let retry =
            Retry { limits: RetryLimits::uniform(limit), on: RetryOn::ALL, backoff: Backoff::NONE };
        Self { retry, ..Self::without_retries() }
    }

    /// So many retries with exponential backoff from 100 ms, doubling up to 20 s, with full jitter:
    /// what a careful client does who knows nothing of others.
    #[must_use]
    pub fn standard(limit: u32) -> Self {
        let (base, most) = (Nanos::from_millis(100), Nanos::from_secs(20));
        let backoff = Backoff::exponential(base, 2.0, most, Jitter::Full);
        let naive = Self::naive(limit);
        let retry = Retry { backoff, ..naive.retry };
        Self { retry, heeds_pushback: true, ..naive }
    }

    /// As a policy of a system file says.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        Self {
            retry: policy.narrowed_retry(),
            budget: policy.budget.initial.clone(),
            timeout: policy.timeout,
            deadline: policy.deadline,
            needs: policy.needs,
            heeds_pushback: policy.heeds_pushback,
        }
    }

    /// The same with another time for an attempt.
    #[must_use]
    pub fn waiting(self, timeout: Option<Nanos>) -> Self {
        Self { timeout: timeout.or(self.timeout), ..self }
    }

    /// Whether anything is retried at all.
    pub(super) fn is_active(&self) -> bool {
        self.retry.is_active()
    }
}

impl Default for Caller {
    fn default() -> Self {
        Self::without_retries()
    }
}

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
    /// By class of the load: which class of the policy it is; none: the same.
    pub classes: Vec<u8>,
}

/// How the classes of a load found those of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matched {
    /// All by their names, or there is only one to be found.
    ByName,
    /// None of the names is the policy's: the first is the first, and so on.
    ByPosition,
    /// These are none of the policy's, and are taken for its lowest.
    Partly(Vec<String>),
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
            classes: Vec::new(),
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
            classes: Vec::new(),
        }
    }

    /// The same for a load with classes of its own, `theirs` being those of the policy: by name, and by
    /// position where no name is the same.
    #[must_use]
    pub fn for_classes(self, ours: &[String], theirs: &[String]) -> (Self, Matched) {
        let lowest = theirs.len().saturating_sub(1);
        let named = |name: &String| theirs.iter().position(|their| their == name);
        let unknown: Vec<String> =
            ours.iter().filter(|name| named(name).is_none()).cloned().collect();
        let matched = match unknown.len() {
            _ if lowest == 0 => Matched::ByName,
            0 => Matched::ByName,
            all if all == ours.len() => Matched::ByPosition,
            _ => Matched::Partly(unknown),
        };
        let of = |(position, name): (usize, &String)| match matched {
            Matched::ByPosition => position.min(lowest),
            _ => named(name).unwrap_or(lowest),
        };
        let classes = ours.iter().enumerate().map(of);
        let classes = classes.map(|class| u8::try_from(class).unwrap_or(u8::MAX)).collect();
        (Self { classes, ..self }, matched)
    }

    /// The class of the policy that a class of the load is.
    pub(super) fn class(&self, of_load: usize) -> u8 {
        let same = u8::try_from(of_load).unwrap_or(u8::MAX);
        self.classes.get(of_load).copied().unwrap_or(same)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_their_names() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let of = |ours: &[&str], theirs: &[&str]| {
            let (caller, matched) = Caller::naive(1).for_classes(&names(ours), &names(theirs));
            ((0..ours.len()).map(|class| caller.class(class)).collect::<Vec<_>>(), matched)
        };
        let both = ["high", "low"];
        assert_eq!(of(&["low", "high"], &both), (vec![1, 0], Matched::ByName));
        assert_eq!(of(&["low"], &both), (vec![1], Matched::ByName));
        assert_eq!(of(&["gold", "tin", "mud"], &both), (vec![0, 1, 1], Matched::ByPosition));
        let partly = Matched::Partly(names(&["mud"]));
        assert_eq!(of(&["mud", "high"], &both), (vec![1, 0], partly));
        assert_eq!(of(&["gold", "tin"], &["default"]), (vec![0, 0], Matched::ByName));
        assert_eq!(Caller::naive(1).class(3), 3, "without a policy of others");
    }
}

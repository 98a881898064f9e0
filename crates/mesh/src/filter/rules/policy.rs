//! What a request to a destination is told about retries.

use damper_control::Outcome;
use damper_control::conditions::StatusSet;

use crate::filter::account::{Account, budget};
use crate::filter::config::{Limit, Retry};

/// The statuses of a rejection if none are written.
const REJECTED: [u16; 2] = [429, 503];
/// The statuses of a failure.
const FAILED: [u16; 2] = [500, 502];
/// The status of a timeout.
const TIMED_OUT: u16 = 504;

/// What a request to a destination is told about retries.
#[derive(Clone, Debug)]
pub(in crate::filter) struct Policy {
    /// Retries by class. `None`: what the route says.
    pub(in crate::filter) limits: Option<Vec<u32>>,
    pub(in crate::filter) conditions: Option<Conditions>,
    pub(in crate::filter) per_try_timeout_ms: Option<String>,
    pub(in crate::filter) account: Option<Account>,
    pub(in crate::filter) pushback: bool,
    /// Whether OVERLOADED from there is believed.
    pub(in crate::filter) overloaded: bool,
    rejected: StatusSet,
}

/// Envoy's headers for what is retried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::filter) struct Conditions {
    /// `x-envoy-retry-on`.
    pub(in crate::filter) on: String,
    /// `x-envoy-retry-grpc-on`.
    pub(in crate::filter) grpc_on: String,
    /// `x-envoy-retriable-status-codes`.
    pub(in crate::filter) statuses: String,
    retries: [bool; Outcome::ALL.len()],
}

/// What one of our words is to Envoy. `reset` stands apart: to Envoy the timeout of an attempt is a
/// reset like any other.
struct Word {
    name: &'static str,
    on: &'static [&'static str],
    grpc_on: &'static [&'static str],
    outcome: Outcome,
}

const OURS: [Word; 3] = [
    Word {
        name: "rejected",
        on: &["refused-stream", "retriable-status-codes"],
        grpc_on: &["resource-exhausted", "unavailable"],
        outcome: Outcome::Rejected,
    },
    Word {
        name: "failed",
        on: &["connect-failure", "refused-stream", "retriable-status-codes"],
        grpc_on: &["internal", "unavailable"],
        outcome: Outcome::Failed,
    },
    Word {
        name: "timeout",
        on: &["reset", "retriable-status-codes"],
        grpc_on: &["deadline-exceeded"],
        outcome: Outcome::TimedOut,
    },
];

/// Envoy's words that are about gRPC.
const GRPC: [&str; 5] =
    ["cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"];

impl Policy {
    /// What is written, and what stands above it for what is not. `named`: an edge names the
    /// destination.
    pub(in crate::filter) fn new(
        own: &Retry,
        above: &Retry,
        classes: &[String],
        named: bool,
    ) -> Self {
        let limits = own.limit.as_ref().or(above.limit.as_ref()).map(|limit| {
            let of = |class: &String| match limit {
                Limit::All(limit) => *limit,
                Limit::ByClass(by) => by.get(class).copied().unwrap_or(0),
            };
            classes.iter().map(of).collect()
        });
        let statuses = own.status_codes.as_deref().or(above.status_codes.as_deref());
        let statuses = statuses.unwrap_or(&REJECTED);
        let per_try = own.per_try_timeout_ms.or(above.per_try_timeout_ms);
        let words = own.on.as_deref().or(above.on.as_deref());
        Self {
            limits,
            conditions: words.map(|words| Conditions::new(words, statuses, per_try.is_some())),
            per_try_timeout_ms: per_try.map(|ms| ms.to_string()),
            account: own
                .budget
                .as_ref()
                .or(above.budget.as_ref())
                .and_then(budget)
                .map(Account::new),
            pushback: own.pushback.or(above.pushback).unwrap_or(false),
            overloaded: own.overloaded.or(above.overloaded).unwrap_or(named),
            rejected: statuses.iter().fold(StatusSet::EMPTY, |set, status| set.with(*status)),
        }
    }

    /// How an answer ended: its status, and its gRPC status if it has one in its headers.
    pub(in crate::filter) fn outcome(&self, status: u16, grpc: Option<u8>) -> Outcome {
        match (status, grpc) {
            (_, Some(8 | 14)) => Outcome::Rejected,
            (_, Some(4)) => Outcome::TimedOut,
            (_, Some(2 | 13 | 15)) => Outcome::Failed,
            (status, _) if self.rejected.contains(status) => Outcome::Rejected,
            (TIMED_OUT, _) => Outcome::TimedOut,
            (500.., _) => Outcome::Failed,
            _ => Outcome::Success,
        }
    }

    /// Whether such an end is retried, as far as it is known here.
    pub(in crate::filter) fn retries(&self, outcome: Outcome) -> bool {
        match &self.conditions {
            Some(conditions) => conditions.retries[outcome.index()],
            None => outcome != Outcome::Success,
        }
    }
}

impl Conditions {
    /// From our words and Envoy's.
    fn new(words: &[String], rejected: &[u16], per_try_timeout: bool) -> Self {
        let (mut on, mut grpc_on) = (Vec::new(), Vec::new());
        let mut statuses: Vec<u16> = Vec::new();
        let mut retries = [false; Outcome::ALL.len()];
        let has = |name: &str| words.iter().any(|word| word == name);
        for word in OURS.iter().filter(|word| has(word.name)) {
            on.extend_from_slice(word.on);
            grpc_on.extend_from_slice(word.grpc_on);
            retries[word.outcome.index()] = true;
            match word.outcome {
                Outcome::Rejected => statuses.extend_from_slice(rejected),
                Outcome::TimedOut => statuses.push(TIMED_OUT),
                _ => statuses.extend_from_slice(&FAILED),
            }
        }
        // A reset is a failure, and so would be the timeout of an attempt, where there is one.
        if has("failed") && !per_try_timeout {
            on.push("reset");
        }
        for word in words.iter().filter(|word| !OURS.iter().any(|our| our.name == *word)) {
            let list = if GRPC.contains(&word.as_str()) { &mut grpc_on } else { &mut on };
            list.push(word);
            if word == "retriable-status-codes" {
                statuses.extend_from_slice(rejected);
            }
            // Envoy's words cut across the ends: whatever is no success may be retried.
            retries = [true; Outcome::ALL.len()];
        }
        retries[Outcome::Success.index()] = false;
        let mut numbers = Vec::new();
        for status in statuses {
            let text = status.to_string();
            if !numbers.contains(&text) {
                numbers.push(text);
            }
        }
        Self { on: joined(on), grpc_on: joined(grpc_on), statuses: numbers.join(","), retries }
    }
}

/// A list without repetitions.
fn joined(words: Vec<&str>) -> String {
    let mut once: Vec<&str> = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    once.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(words: &[&str], per_try: bool) -> Conditions {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Conditions::new(&words, &[503], per_try)
    }

    #[test]
    fn our_words_are_words_of_envoy() {
        let all = conditions(&["rejected", "failed", "timeout"], true);
        assert_eq!(all.on, "refused-stream,retriable-status-codes,connect-failure,reset");
        assert_eq!(all.grpc_on, "resource-exhausted,unavailable,internal,deadline-exceeded");
        assert_eq!(all.statuses, "503,500,502,504");
        let known = damper_control::Conditions::parse(&all.on).unwrap();
        assert_eq!(known, damper_control::Conditions::parse_leniently(&all.on));
    }

    /// To Envoy the timeout of an attempt is a reset: who does not want it retried, and has one, gets
    /// no resets retried.
    #[test]
    fn a_reset_is_a_failure_where_no_attempt_can_time_out() {
        assert!(conditions(&["failed"], false).on.contains("reset"));
        assert!(!conditions(&["failed"], true).on.contains("reset"));
    }

    #[test]
    fn words_of_envoy_go_where_they_belong() {
        let mixed = conditions(&["5xx", "cancelled", "envoy-ratelimited"], false);
        assert_eq!((&*mixed.on, &*mixed.grpc_on), ("5xx,envoy-ratelimited", "cancelled"));
        assert_eq!(mixed.statuses, "");
    }

    #[test]
    fn ends_are_told_apart() {
        let retry = Retry { on: Some(vec!["rejected".into()]), ..Retry::default() };
        let policy = Policy::new(&retry, &Retry::default(), &["default".into()], false);
        for (status, grpc, outcome, retried) in [
            (200, None, Outcome::Success, false),
            (200, Some(0), Outcome::Success, false),
            (200, Some(14), Outcome::Rejected, true),
            (200, Some(13), Outcome::Failed, false),
            (503, None, Outcome::Rejected, true),
            (504, None, Outcome::TimedOut, false),
            (500, None, Outcome::Failed, false),
            (404, None, Outcome::Success, false),
        ] {
            let found = policy.outcome(status, grpc);
            assert_eq!((found, policy.retries(found)), (outcome, retried), "{status} {grpc:?}");
        }
    }
}

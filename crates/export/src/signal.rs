//! What a caller sees of an end, and the words of formats that retry it.
//!
//! A system file knows ends (`rejected`, `failed`, …); a proxy sees statuses and broken
//! connections. A sign is retried only if every end that it can mean is retried: what is written
//! never retries more than what was asked.

use damper_config::failure::{Failure, Failures};
use damper_control::RetryOn;

/// Every sign with the ends that it can mean. A service that turns work away answers 429 or 503, a
/// service that fails answers 500, and one that passes a failure up answers 502 or 504.
const MEANS: [(Failure, RetryOn); 9] = [
    (Failure::Connect, RetryOn::REJECTED),
    (Failure::Refused, RetryOn::REJECTED),
    (Failure::TooMany, RetryOn::REJECTED),
    (Failure::Unavailable, RetryOn::BEFORE_WORK),
    (Failure::ServerError, RetryOn::FAILED),
    (Failure::Reset, RetryOn::FAILED),
    (Failure::BadGateway, RetryOn::FAILED_BELOW),
    (Failure::GatewayTimeout, RetryOn::FAILED_BELOW),
    (Failure::AttemptTimeout, RetryOn::TIMED_OUT),
];

/// The signs that are to be retried. Without a timeout of one attempt none is seen.
pub(crate) fn wanted(on: RetryOn, times_out: bool) -> Failures {
    let sees = |kind: &Failure| times_out || *kind != Failure::AttemptTimeout;
    let all = MEANS.iter().filter(|(_, ends)| ends.without(on).is_empty());
    all.map(|(kind, _)| *kind).filter(sees).collect()
}

/// Signs of which only some ends are to be retried, so that they are not: each with the ends that
/// are missing.
pub(crate) fn half(on: RetryOn) -> Vec<(Failure, RetryOn)> {
    let part = |ends: RetryOn| !(ends & on).is_empty() && !ends.without(on).is_empty();
    MEANS
        .iter()
        .filter(|(_, ends)| part(*ends))
        .map(|(kind, ends)| (*kind, ends.without(on)))
        .collect()
}

/// Ends as the system file writes them.
pub(crate) fn names(on: RetryOn) -> String {
    let all = RetryOn::NAMES.iter().filter(|(_, one)| one.without(on).is_empty());
    let all: Vec<&str> = all.map(|(name, _)| *name).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// What a gRPC client retries, as signs: a status of gRPC is what a service says with a 200 of HTTP,
/// and means the same end as the HTTP status beside it. A 409 that gRPC takes for UNKNOWN is among
/// the failures that it does not tell apart. A status that means no end of ours stays what it is.
pub(crate) fn folded(kinds: Failures) -> Failures {
    const SAME: [(Failure, Failure); 4] = [
        (Failure::GrpcUnavailable, Failure::Unavailable),
        (Failure::GrpcExhausted, Failure::TooMany),
        (Failure::GrpcError, Failure::ServerError),
        (Failure::GrpcDeadline, Failure::GatewayTimeout),
    ];
    let unknown = kinds.contains(Failure::GrpcError);
    let sign =
        |kind: Failure| SAME.iter().find(|(grpc, _)| *grpc == kind).map_or(kind, |(_, sign)| *sign);
    kinds.iter().filter(|kind| !(unknown && *kind == Failure::Conflict)).map(sign).collect()
}

/// Signs as people call them.
pub(crate) fn signs(kinds: Failures) -> String {
    let all: Vec<&str> = kinds.iter().map(Failure::name).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// The HTTP status of a sign.
pub(crate) fn status(kind: Failure) -> Option<u32> {
    Some(match kind {
        Failure::TooMany => 429,
        Failure::ServerError => 500,
        Failure::BadGateway => 502,
        Failure::Unavailable => 503,
        Failure::GatewayTimeout => 504,
        _ => return None,
    })
}

/// A word of a format, and what it retries.
pub(crate) struct Word {
    /// As it is written.
    pub(crate) text: &'static str,
    /// All that it retries.
    pub(crate) retries: &'static [Failure],
}

/// The words that retry nothing but what is wanted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chosen {
    /// The words.
    pub(crate) words: Vec<&'static str>,
    /// What they retry of what is wanted.
    pub(crate) covered: Failures,
    /// What is wanted and no word retries without more.
    pub(crate) missing: Failures,
}

/// Chooses words. `never`: signs that cannot occur here, so that a word may retry them; `elsewhere`:
/// signs that the format names in another way, such as statuses.
pub(crate) fn choose(
    words: &[Word],
    wanted: Failures,
    never: Failures,
    elsewhere: Failures,
) -> Chosen {
    let mut chosen = Chosen::default();
    let mut free = wanted;
    free.add(never);
    for word in words {
        let all = word.retries.iter().all(|kind| free.contains(*kind));
        let more = word
            .retries
            .iter()
            .any(|kind| wanted.contains(*kind) && !chosen.covered.contains(*kind));
        if all && more {
            chosen.words.push(word.text);
            chosen.covered.add(Failures::of(word.retries).both(wanted));
        }
    }
    chosen.covered.add(elsewhere.both(wanted));
    chosen.missing = wanted.iter().filter(|kind| !chosen.covered.contains(*kind)).collect();
    chosen
}

/// The ends that are still retried if these signs are not: those of which a sign is left.
pub(crate) fn ends_of(covered: Failures) -> RetryOn {
    let seen = MEANS.iter().filter(|(kind, _)| covered.contains(*kind));
    seen.fold(RetryOn::NONE, |all, (_, ends)| all | *ends)
}

/// The words of Envoy's `retry_on` that are used here, the widest first.
pub(crate) const ENVOY: &[Word] = &[
    Word {
        text: "reset",
        retries: &[Failure::Connect, Failure::Refused, Failure::Reset, Failure::AttemptTimeout],
    },
    Word { text: "connect-failure", retries: &[Failure::Connect] },
    Word { text: "refused-stream", retries: &[Failure::Refused] },
];

/// The signs that are statuses.
pub(crate) const STATUSES: &[Failure] = &[
    Failure::TooMany,
    Failure::ServerError,
    Failure::BadGateway,
    Failure::Unavailable,
    Failure::GatewayTimeout,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_retried_only_if_all_that_it_can_mean_is() {
        let on = RetryOn::REJECTED | RetryOn::FAILED;
        assert!(!wanted(on, true).contains(Failure::Unavailable));
        assert_eq!(half(on), [(Failure::Unavailable, RetryOn::SHED)]);
        assert!(wanted(on | RetryOn::SHED, true).contains(Failure::Unavailable));
        assert!(!wanted(RetryOn::ALL, false).contains(Failure::AttemptTimeout));
    }

    #[test]
    fn a_status_of_grpc_is_the_sign_of_its_end() {
        let seen = Failures::of(&[Failure::GrpcUnavailable, Failure::GrpcError]).seen_by_grpc();
        let signs = folded(seen);
        assert!(signs.iter().all(|kind| wanted(RetryOn::ALL, true).contains(kind)));
        assert!(signs.contains(Failure::BadGateway) && signs.contains(Failure::GatewayTimeout));
        assert!(folded(Failures::of(&[Failure::Conflict])).contains(Failure::Conflict));
        assert!(folded(Failures::of(&[Failure::GrpcAborted])).contains(Failure::GrpcAborted));
    }

    #[test]
    fn a_word_that_retries_more_than_is_wanted_is_not_used() {
        let never = Failures::of(&[Failure::AttemptTimeout]);
        let before = wanted(RetryOn::BEFORE_WORK, true);
        let chosen = choose(ENVOY, before, Failures::NONE, Failures::of(STATUSES));
        assert_eq!(chosen.words, ["connect-failure", "refused-stream"]);
        assert!(chosen.missing.is_empty());
        let failed = wanted(RetryOn::BEFORE_WORK | RetryOn::FAILED, false);
        assert_eq!(choose(ENVOY, failed, Failures::NONE, Failures::of(STATUSES)).words.len(), 2);
        assert_eq!(choose(ENVOY, failed, never, Failures::of(STATUSES)).words, ["reset"]);
        let slow = wanted(RetryOn::TIMED_OUT, true);
        let chosen = choose(ENVOY, slow, Failures::NONE, Failures::of(STATUSES));
        assert_eq!(chosen.missing, Failures::of(&[Failure::AttemptTimeout]));
        assert!(ends_of(chosen.covered).is_empty());
    }
}

//! Envoy's words for conditions: `retry_on`, `x-envoy-retry-on`, `x-envoy-retry-grpc-on`.

use core::fmt;

use super::{Conditions, GrpcSet, GrpcStatus, StatusSet};

const fn grpc(status: GrpcStatus) -> Conditions {
    Conditions::NONE.with_grpc(GrpcSet::EMPTY.with(status))
}

/// Every word that Envoy knows, and what it means.
pub const WORDS: [(&str, Conditions); 16] = [
    ("5xx", Conditions::FIVE_XX),
    ("gateway-error", Conditions::GATEWAY_ERROR),
    ("reset", Conditions::RESET),
    ("reset-before-request", Conditions::RESET_BEFORE_REQUEST),
    ("connect-failure", Conditions::CONNECT_FAILURE),
    ("envoy-ratelimited", Conditions::ENVOY_RATELIMITED),
    ("retriable-4xx", Conditions::RETRIABLE_4XX),
    ("refused-stream", Conditions::REFUSED_STREAM),
    ("retriable-status-codes", Conditions::RETRIABLE_STATUS_CODES),
    ("retriable-headers", Conditions::RETRIABLE_HEADERS),
    ("http3-post-connect-failure", Conditions::HTTP3_POST_CONNECT_FAILURE),
    ("cancelled", grpc(GrpcStatus::Cancelled)),
    ("deadline-exceeded", grpc(GrpcStatus::DeadlineExceeded)),
    ("internal", grpc(GrpcStatus::Internal)),
    ("resource-exhausted", grpc(GrpcStatus::ResourceExhausted)),
    ("unavailable", grpc(GrpcStatus::Unavailable)),
];

/// An item of a list that is none of what may stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACondition<'a> {
    /// What stands there.
    pub word: &'a str,
    /// The byte of the list at which it starts.
    pub at: usize,
    /// What could stand there.
    pub expected: &'static str,
}

impl fmt::Display for NotACondition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` at byte {} is not {}", self.word, self.at, self.expected)
    }
}

impl core::error::Error for NotACondition<'_> {}

impl Conditions {
    /// Reads Envoy's list of words, separated by commas. An empty list retries nothing.
    ///
    /// # Errors
    /// The first word that Envoy does not know. Envoy itself passes over it in a header, and
    /// then retries less than somebody thinks: [`Conditions::parse_leniently`] does the same.
    pub fn parse(list: &str) -> Result<Self, NotACondition<'_>> {
        items(list).try_fold(Self::NONE, |all, (at, word)| {
            let expected =
                "a condition that Envoy knows, such as 5xx, connect-failure or unavailable";
            named(word).map(|one| all.or(one)).ok_or(NotACondition { word, at, expected })
        })
    }

    /// The same without the words that Envoy does not know, as Envoy reads a header.
    #[must_use]
    pub fn parse_leniently(list: &str) -> Self {
        items(list).filter_map(|(_, word)| named(word)).fold(Self::NONE, Self::or)
    }

    /// The statuses of `x-envoy-retriable-status-codes`, and what is not one passed over.
    #[must_use]
    pub fn statuses_leniently(list: &str) -> StatusSet {
        items(list)
            .filter_map(|(_, item)| item.parse().ok())
            .fold(StatusSet::EMPTY, StatusSet::with)
    }
}

fn named(word: &str) -> Option<Conditions> {
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, conditions)| *conditions)
}

/// The items of a list and where they start; space around them is not part of them, and what is
/// empty is not one.
pub(super) fn items(list: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    list.split(',').filter_map(move |item| {
        let start = at + (item.len() - item.trim_start().len());
        at += item.len() + 1;
        let item = item.trim();
        (!item.is_empty()).then_some((start, item))
    })
}

//! The words of `retry_on`, as every format uses them that hands them to Envoy.

use crate::failure::{Failure, Failures};

/// What a list of words retries.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// The kinds.
    pub(crate) on: Failures,
    /// Words that Envoy does not know.
    pub(crate) unknown: Vec<String>,
    /// Whether status codes count: without that word a list of codes is ignored.
    pub(crate) takes_codes: bool,
    /// Whether response headers decide, which cannot be told here.
    pub(crate) by_headers: bool,
}

use Failure::{
    AttemptTimeout, Cancelled, Conflict, Connect, GrpcDeadline, GrpcError, GrpcExhausted,
    GrpcUnavailable, Refused, Reset, TooMany,
};

/// Every word with its kinds. A timeout of one attempt is a reset to Envoy.
const WORDS: &[(&str, &[Failure])] = &[
    ("5xx", &[Connect, Refused, Reset, AttemptTimeout]),
    ("gateway-error", &[Reset, AttemptTimeout]),
    ("reset", &[Connect, Refused, Reset, AttemptTimeout]),
    ("reset-before-request", &[Connect, Refused]),
    ("connect-failure", &[Connect]),
    ("refused-stream", &[Refused]),
    ("envoy-ratelimited", &[TooMany]),
    ("retriable-4xx", &[Conflict]),
    ("retriable-status-codes", &[]),
    ("retriable-headers", &[]),
    ("http3-post-connect-failure", &[Reset]),
    ("cancelled", &[Cancelled]),
    ("deadline-exceeded", &[GrpcDeadline]),
    ("internal", &[GrpcError]),
    ("resource-exhausted", &[GrpcExhausted]),
    ("unavailable", &[GrpcUnavailable]),
];

/// What words retry, with the status codes beside them. With `bare_codes` a code may stand among
/// the words, as Istio allows.
pub(crate) fn conditions<W: AsRef<str>>(
    words: &[W],
    codes: &[u32],
    bare_codes: bool,
) -> Conditions {
    let mut found = Conditions::default();
    for word in words {
        let word = word.as_ref().trim();
        let code = word.parse::<u32>().ok().filter(|code| bare_codes && (100..600).contains(code));
        if let Some(code) = code {
            found.takes_codes = true;
            found.on.extend_status(code);
            continue;
        }
        let Some((_, kinds)) = WORDS.iter().find(|(known, _)| *known == word) else {
            if !word.is_empty() {
                found.unknown.push(word.to_owned());
            }
            continue;
        };
        found.on.add(Failures::of(kinds));
        match word {
            "5xx" => found.on.add(Failures::SERVER),
            "gateway-error" => found.on.add(Failures::GATEWAY),
            "retriable-status-codes" => found.takes_codes = true,
            "retriable-headers" => found.by_headers = true,
            _ => {}
        }
    }
    if found.takes_codes {
        codes.iter().for_each(|code| found.on.extend_status(*code));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use Failure::Unavailable;

    #[test]
    fn codes_count_only_with_their_word() {
        assert!(conditions(&["connect-failure"], &[503], false).on == Failures::of(&[Connect]));
        let with = conditions(&["retriable-status-codes"], &[503], false);
        assert_eq!(with.on, Failures::of(&[Unavailable]));
        assert_eq!(conditions(&["503"], &[], true).on, Failures::of(&[Unavailable]));
        assert_eq!(conditions(&["503"], &[], false).unknown, ["503"]);
    }

    #[test]
    fn unknown_words_are_told() {
        let found = conditions(&["canceled", " reset"], &[], false);
        assert_eq!(found.unknown, ["canceled"]);
        assert!(found.on.contains(AttemptTimeout));
        assert!(!conditions(&["reset-before-request"], &[], false).on.contains(AttemptTimeout));
    }
}

//! Words that speak of retries, and words that only look like them: `entries`, `retrieve`,
//! "attempts to open".

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::{any, split};

/// Parts of words, in lower case.
const PARTS: &[&str] = &[
    "retry",
    "retri",
    "attempt",
    "tries",
    "backoff",
    "back_off",
    "re-try",
    "re_try",
    "try_count",
    "trycount",
    "redo",
];
/// What may stand right before `tries`.
const TRIES: &[&str] = &["", "max", "num", "n", "nr", "no", "of", "re", "total"];
/// What makes of `attempt` the other meaning: to try something for the first time.
const ONCE: &[&str] = &[" to ", "ed to ", "ing to ", "s to "];

/// A name, or a text with comments, that speaks of retries.
pub(in crate::loops) fn about_retry(text: &str) -> bool {
    thread_local! {
        static ANSWERS: split::Answers = split::Answers::default();
    }
    split::answered(&ANSWERS, text, PARTS, || {
        split::remembered(&ABOUT_RETRY, text, about_retry_anew)
    })
}

thread_local! {
    static ABOUT_RETRY: split::Known<bool> = split::Known::default();
}

fn about_retry_anew(text: &str) -> bool {
    static FOUND: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let parts = FOUND.get_or_init(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(PARTS)
            .ok()
    });
    let mut found = parts.iter().flat_map(|parts| parts.find_overlapping_iter(text));
    found.any(|found| {
        let (at, after) = (found.start(), &text.as_bytes()[found.end()..]);
        let begins = |start: &str| {
            after.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start.as_bytes()))
        };
        match PARTS[found.pattern().as_usize()] {
            "retri" => !begins("ev"),
            "tries" => TRIES.contains(&&*word_before(text, at)),
            "attempt" => !ONCE.iter().any(|once| begins(once)),
            "redo" => {
                word_before(text, at).is_empty()
                    && !after.first().is_some_and(u8::is_ascii_alphabetic)
            }
            _ => true,
        }
    })
}

/// Whether a function of this name is handed what it calls later, and again.
pub(in crate::loops) fn says_later(name: &str) -> bool {
    about_retry(name)
        || any(name, &["later", "delay", "delayed", "reconnect", "again", "reschedule"])
}

/// What an answer says of another attempt, alone or with words that change nothing.
const ANOTHER: &[&str] =
    &["retry", "again", "retryable", "retriable", "continue", "cont", "transient", "temporary"];
/// Words that change nothing of it.
const ASIDE: &[&str] = &[
    "should", "do", "can", "try", "is", "need", "needs", "must", "want", "wants", "will", "may",
    "to", "be", "worth",
];
/// Words that make the opposite of it, or something else.
const NO_MORE: &[&str] = &[
    "no",
    "not",
    "dont",
    "never",
    "stop",
    "exhausted",
    "exceeded",
    "max",
    "limit",
    "failed",
    "done",
    "count",
    "counter",
    "without",
    "non",
    "cannot",
    "policy",
    "delay",
    "interval",
    "strategy",
];

/// Whether a name of a variable says that another attempt makes sense: `retry`, `shouldContinue`.
pub(in crate::loops) fn asks_for_another(name: &str) -> bool {
    let all = split::words(name);
    all.iter().any(|word| ANOTHER.contains(&&**word))
        && all.iter().all(|word| ANOTHER.contains(&&**word) || ASIDE.contains(&&**word))
}

/// Whether a name of a value says so, whatever else it says: `Decision::Retry`, `RESULT_RETRY`,
/// `TryAgain`.
pub(in crate::loops) fn names_another(name: &str) -> bool {
    let all = split::words(name);
    let another = |word: &str| ANOTHER.contains(&word) && !matches!(word, "continue" | "cont");
    all.iter().any(|word| another(word)) && !all.iter().any(|word| NO_MORE.contains(&&**word))
}

/// Words of what a batch came back with because it was not done.
const LEFT: &[&str] = &["unprocessed", "undelivered", "unsent", "unacked", "unacknowledged"];

/// Whether a name is that of a part of an answer that lists what was not done.
pub(in crate::loops) fn left_over(name: &str) -> bool {
    any(name, LEFT)
}

/// The letters right before a place that belong to the same word, in lower case.
pub(crate) fn word_before(text: &str, at: usize) -> String {
    let (before, word) = (&text[..at], &text[at..]);
    let upper = |c: char| c.is_ascii_uppercase();
    let start = match (word.starts_with(upper), word[1..].starts_with(upper)) {
        (true, true) => before.trim_end_matches(upper).len(),
        // `maxTries`: a word of its own.
        (true, false) => at,
        _ => {
            let start = before.trim_end_matches(|c: char| c.is_ascii_lowercase()).len();
            if before[..start].ends_with(upper) { start - 1 } else { start }
        }
    };
    before[start..].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_like_a_retry_is_none() {
        for text in
            ["maxRetries", "MAX_RETRIES", "max_tries", "nTries", "numTries", "tries", "TRIES"]
        {
            assert!(about_retry(text), "{text}");
        }
        for text in ["retried", "retriable", "attempt", "attempts left", "redo", "backOff()"] {
            assert!(about_retry(text), "{text}");
        }
        for text in ["entries", "logEntries", "Entries", "ENTRIES", "countries", "registries"] {
            assert!(!about_retry(text), "{text}");
        }
        for text in ["retrieve", "Retrieval", "attempts to open it", "attempt to open", "redoc"] {
            assert!(!about_retry(text), "{text}");
        }
    }

    #[test]
    fn what_asks_for_another_attempt() {
        for name in ["retry", "shouldContinue", "try_again", "needsRetry"] {
            assert!(asks_for_another(name), "{name}");
        }
        for name in ["retryResponse", "retries", "response", "retry_policy"] {
            assert!(!asks_for_another(name), "{name}");
        }
        assert!(names_another("RESULT_RETRY") && names_another("TryAgain"));
        assert!(!names_another("RetryExhausted") && !names_another("Continue"));
    }
}

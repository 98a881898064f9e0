//! What stays inside of the process, whatever it is called: taking a text apart, writing a log.

use super::{any, words};

/// Whether a receiver takes a text apart. What is given an address may ask for it first.
pub(super) fn parses(receiver: &str, last: &str) -> bool {
    matches!(receiver, "parser" | "lexer" | "tokenizer" | "tokeniser")
        && !any(last, &["url", "uri", "fetch", "load"])
}

/// Whether a name is that of what writes a log: `WriteLog`, `append_log`.
pub(super) fn writes_a_log(last: &str) -> bool {
    match &words(last)[..] {
        [verb, log] => &**log == "log" && matches!(&**verb, "write" | "append" | "print"),
        _ => false,
    }
}

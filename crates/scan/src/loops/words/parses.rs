//! Receivers that take a text apart, so that what is called on them stays inside.

use super::any;

/// Whether a receiver takes a text apart. What is given an address may ask for it first.
pub(super) fn parses(receiver: &str, last: &str) -> bool {
    matches!(receiver, "parser" | "lexer" | "tokenizer" | "tokeniser")
        && !any(last, &["url", "uri", "fetch", "load"])
}

//! Which texts are worth parsing: those with a word in them that some format reads.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::document::Syntax;

/// Words of which every file that a format reads has one, in small letters.
const WORDS: &[&str] = &[
    "retr",
    "attempt",
    "backoff",
    "back_off",
    "redeliver",
    "maxreceivecount",
    "apiversion",
    "envoy",
    "upstream",
    "timeout",
    "_addr",
    "services:",
    "deadletter",
    "tries",
    "throttl",
];

/// Files from which others are filled in, whatever stands in them.
const ALWAYS: &[&str] = &["values", "chart.", "kustomization"];

/// Whether a file may say anything that a format reads, or that another file is filled in from.
#[must_use]
pub fn worth(path: &str, text: &str) -> bool {
    static FINDER: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok());
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    // Of the others there are few, and most of them say something.
    let many = [Syntax::Yaml, Syntax::Json, Syntax::Toml];
    !Syntax::of_path(path).iter().any(|syntax| many.contains(syntax))
        || ALWAYS.iter().any(|start| name.starts_with(start))
        || FINDER.as_ref().is_none_or(|finder| finder.is_match(text))
}

//! Calls that only close what was used, and calls that do something with files.

use super::{has, words};

/// Names of calls that only close what was used: `doClose`, `closeQuietly`, `shutdownOutput`.
pub(super) fn closes(last: &str) -> bool {
    let all = words(last);
    let closing = |word: &str| matches!(word, "close" | "dispose" | "shutdown");
    all.iter().any(|word| closing(word))
        && all.iter().all(|word| closing(word) || CLOSED.contains(&&**word))
}

/// What is closed, and how, in such names.
const CLOSED: &[&str] = &[
    "do",
    "try",
    "safe",
    "safely",
    "force",
    "quietly",
    "silently",
    "if",
    "open",
    "internal",
    "impl",
    "socket",
    "connection",
    "conn",
    "stream",
    "streams",
    "channel",
    "client",
    "session",
    "writer",
    "reader",
    "input",
    "output",
    "send",
    "receive",
    "all",
    "async",
    "now",
    "and",
    "body",
];

/// Whose methods of these names do something with a file, which another program may hold.
const FILES: &[&str] = &["File", "Files", "Directory", "FileUtils", "fs", "shutil", "filesystem"];

/// Whether the methods of this do something with files: `File.Copy`, `fs.write`.
pub(super) fn is_of_files(receiver: &str) -> bool {
    FILES.contains(&receiver)
}

/// Types of errors that are no failures: cancelling, interrupting.
pub(in crate::loops) fn is_cancel(text: &str) -> bool {
    has(text, &["cancel", "interrupt", "abort", "stopiteration", "generatorexit", "systemexit"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_an_order_is_more_than_closing() {
        assert!(closes("doCloseSend") && closes("closeQuietly") && closes("shutdownOutput"));
        assert!(!closes("closeOrder") && !closes("disposeOfItem") && !closes("send"));
    }
}

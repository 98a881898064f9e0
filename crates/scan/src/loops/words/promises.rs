//! Words for asking a promise.

/// Methods that are given what is done with the answer, or with the error.
pub(in crate::loops) const ASKS: &[&str] = &[
    "then",
    "catch",
    "whenComplete",
    "whenCompleteAsync",
    "handle",
    "handleAsync",
    "exceptionally",
    "thenAccept",
    "thenApply",
    "thenCompose",
    "ContinueWith",
];
/// Functions that are given a promise, and an object for what becomes of it.
pub(in crate::loops) const TOLD: &[&str] = &["addCallback", "addCallbackAsync"];

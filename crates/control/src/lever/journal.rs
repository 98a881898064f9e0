//! Who pulled the lever, when and why.

use alloc::boxed::Box;

use super::{Action, Change, ClassSet};
use crate::Nanos;

const MOST_WHO: usize = 64;
const MOST_WHY: usize = 256;

/// One change of the lever.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When.
    pub at: Nanos,
    /// What was done.
    pub action: Action,
    /// For which classes.
    pub classes: ClassSet,
    /// By whom; at most 64 bytes.
    pub who: Box<str>,
    /// Why; at most 256 bytes.
    pub why: Box<str>,
}

impl Record {
    pub(super) fn new(at: Nanos, change: &Change<'_>) -> Self {
        Self {
            at,
            action: change.action,
            classes: change.classes,
            who: start(change.who.trim(), MOST_WHO).into(),
            why: start(change.why.trim(), MOST_WHY).into(),
        }
    }
}

/// The first `most` bytes of a text, fewer where a character would be cut.
fn start(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

//! When a service says OVERLOADED to its callers.

use crate::entry::Entry;

/// The controls of this family.
pub(crate) const ENTRIES: &[&Entry] = &[];

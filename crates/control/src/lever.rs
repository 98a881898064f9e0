//! The operator's lever.

use crate::entry::Entry;

/// The controls of this family.
pub(crate) const ENTRIES: &[&Entry] = &[];

//! Counters of attempts that an object keeps, and that nobody here says the beginning of.

use super::Plan;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::Id;

/// Words of counters, beside those that speak of retries.
const COUNTS: &[&str] = &["failures", "fails", "failed", "errors", "tries"];
/// And of what holds a counter to a limit.
const LIMITS: &[&str] = &["max", "maximum", "limit", "allowed", "total", "delay", "interval"];

/// Whether a field counts the attempts of what is looked at, so that it begins at nought: it is
/// counted up there, and only there.
pub(super) fn is_counted_up(file: &File<'_, '_>, plan: &Plan, id: Id, name: &str) -> bool {
    let counts = words::about_retry(name) || words::any(name, COUNTS);
    if !counts || words::any(name, LIMITS) {
        return false;
    }
    plan.subject.is_some_and(|place| file.is_counted_up(place, id))
}

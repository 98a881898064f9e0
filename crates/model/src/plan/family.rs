//! Which layers retry.

use super::Setting;
use super::space::Space;

/// Which layers retry. Calls that are kept do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// None.
    None,
    /// Calls of one level alone: 1 is what the client calls.
    Level(usize),
    /// Some calls, of several levels.
    Some,
    /// Every call that can.
    All,
}

impl Family {
    pub(super) fn of(setting: &Setting, space: &Space) -> Self {
        let retries = |i: &&usize| setting.limits[**i].iter().any(|k| *k > 0);
        let mut levels: Vec<usize> =
            space.free.iter().filter(retries).map(|i| space.depth[*i]).collect();
        let retrying = levels.len();
        levels.sort_unstable();
        levels.dedup();
        match levels.as_slice() {
            [] => Self::None,
            [level] => Self::Level(*level),
            _ if retrying == space.free.len() => Self::All,
            _ => Self::Some,
        }
    }
}

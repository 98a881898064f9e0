//! How long after now something is due: `DateTime.UtcNow.AddSeconds(60)`, `now + timedelta(minutes=5)`.

use super::number;
use crate::loops::file::File;
use crate::tree::{Arg, Id, Kind};
use crate::value::{Data, Unit};

/// What comes before a unit in the name of a method that goes on in time: `plusMinutes`.
const GOES_ON: &[&str] = &["Add", "add", "plus", "Plus"];

/// The unit of a method that goes on in time.
pub(super) fn unit(file: &File<'_, '_>, call: Id) -> Option<Unit> {
    let Kind::Call { callee, .. } = file.tree.kind(call) else { return None };
    let name = file.tree.last_name(*callee)?;
    let rest = GOES_ON.iter().find_map(|start| name.strip_prefix(start))?;
    Unit::of_word(rest)
}

/// The milliseconds between now and the time that an expression gives, where they are written.
pub(super) fn millis(file: &File<'_, '_>, due: Id) -> Option<f64> {
    let tree = file.tree;
    tree.walk(due).find_map(|at| {
        if let (Some(unit), Kind::Call { args, .. }) = (unit(file, at), tree.kind(at))
            && let [Arg { value, .. }] = args[..]
        {
            return number(file, value).map(|count| count * unit.millis());
        }
        match file.values()?.of(at).data {
            Data::Duration(ms) if ms > 0.0 => Some(ms),
            _ => None,
        }
    })
}

//! Constructors that may fail, so that they are tried again as any other call.

use crate::language::Language;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Whether a constructor of Go gives an error beside what it makes: `cache, err = cache.New(…)`.
pub(super) fn may_fail(file: &File<'_, '_>, call: Id, last: &str) -> bool {
    let makes = words::words(last).first().is_some_and(|word| &**word == "new");
    if file.language != Language::Go || !makes {
        return false;
    }
    let target = file.tree.parent(call).map(|up| file.tree.kind(up));
    let (Some(Kind::Let { target, .. }) | Some(Kind::Assign { target, .. })) = target else {
        return false;
    };
    let Kind::List(names) = file.tree.kind(*target) else { return false };
    names.last().and_then(|name| file.tree.last_name(*name)).is_some_and(|name| name == "err")
}

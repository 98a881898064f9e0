//! The same call on what was connected anew after the first one failed.

use super::repeat::{handles, kept};
use super::{Candidate, Shape, statement};
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Calls of the same method with the same arguments, of which the last is made on what was connected
/// anew in between: `conn.write(b)`, `fresh = dial()`, `fresh.write(b)`.
pub(super) fn connected_anew(file: &File<'_, '_>, calls: &[Id]) -> Option<Candidate> {
    let tree = file.tree;
    let receiver = |call: Id| match tree.kind(call) {
        Kind::Call { callee, .. } => match tree.kind(*callee) {
            Kind::Field { of, .. } => tree.last_name(*of),
            _ => None,
        },
        _ => None,
    };
    let plain = |name: &str| {
        let name = name.trim_start_matches("new").trim_end_matches(|c: char| c.is_ascii_digit());
        name.trim_matches('_').to_ascii_lowercase()
    };
    let last = *calls.last()?;
    let fresh = receiver(last)?;
    let first = calls.iter().position(|call| {
        *call != last && receiver(*call).is_some_and(|of| plain(of) == plain(fresh))
    })?;
    let group: Vec<Id> = calls[first..]
        .iter()
        .copied()
        .filter(|call| receiver(*call).is_some_and(|of| plain(of) == plain(fresh)))
        .collect();
    let span = (tree.span(group[0]).end, tree.span(last).start);
    let dialled = file.assigned(fresh).iter().any(|at| {
        let value = match tree.kind(*at) {
            Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => *value,
            _ => return false,
        };
        (span.0..span.1).contains(&tree.span(*at).start)
            && tree.walk_here(value).any(|at| match tree.kind(at) {
                Kind::Call { callee, .. } => tree.last_name(*callee).is_some_and(|name| {
                    words::any(name, &["dial", "redial", "connect", "reconnect", "reopen"])
                }),
                _ => false,
            })
    });
    let entry = statement(file, group[0])?;
    let seen = kept(file, group[0]) && kept(file, last) || handles(file, group[0], last);
    (dialled && seen).then(|| Candidate {
        shape: Shape::Repeat,
        entry,
        subject: None,
        recursive: None,
        place: entry,
        groups: vec![group],
    })
}

/// How a call is written without what it belongs to: `write(b)`.
pub(super) fn method(file: &File<'_, '_>, call: Id) -> Option<String> {
    let Kind::Call { callee, args, .. } = file.tree.kind(call) else { return None };
    let Kind::Field { name, .. } = file.tree.kind(*callee) else { return None };
    let mut key = (*name).to_owned();
    for arg in args {
        key.push(',');
        key.push_str(&file.squeezed(arg.value));
    }
    (!args.is_empty()).then_some(key)
}

//! Of the same call twice: whether the second one is made because of what the first one said, and
//! whether it changes how it ends.

use super::repeat::handler_of;
use super::same::root;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, Op};

/// Whether a call that nothing is kept of is made because of what another one gave:
/// `done = copy(a, false); if (!done) copy(a, true);`.
pub(super) fn asked_before(file: &File<'_, '_>, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let mut inner = first;
    let name = tree.ancestors(first).find_map(|up| {
        let target = match tree.kind(up) {
            Kind::Let { target, value: Some(value), .. } if *value == inner => Some(*target),
            Kind::Assign { op: None, target, value } if *value == inner => Some(*target),
            _ => None,
        };
        inner = up;
        target
    });
    let Some(name) = name.and_then(|target| tree.last_name(target)) else { return false };
    let own = |id: Id| matches!(tree.kind(id), Kind::Name(known) if *known == name);
    let mut inner = second;
    for up in tree.ancestors(second) {
        match tree.kind(up) {
            Kind::If { test, then, .. } => {
                let failed = match tree.kind(*test) {
                    Kind::Unary { op: Op::Not, of } => own(*of),
                    Kind::Binary { op: Op::Equal, left, right } => {
                        let none = matches!(tree.kind(*right), Kind::Bool(false) | Kind::Null);
                        own(*left) && none
                    }
                    _ => false,
                };
                return failed && *then == inner;
            }
            Kind::Block(_) | Kind::Await(_) => {}
            _ => return false,
        }
        inner = up;
    }
    false
}

/// Whether the handler in which the second call stands raises in any case afterwards: then it cleans
/// up, and does not try again.
pub(super) fn raises_anyway(file: &File<'_, '_>, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let Some(handler) = handler_of(file, first, second) else { return false };
    let Kind::Block(all) = tree.kind(handler) else { return false };
    let Some((last, before)) = all.split_last() else { return false };
    let leaves = before.iter().flat_map(|one| tree.walk_here(*one)).any(|at| {
        matches!(
            tree.kind(at),
            Kind::Return(_) | Kind::Break { .. } | Kind::Continue(_) | Kind::Again | Kind::Goto(_)
        )
    });
    matches!(tree.kind(*last), Kind::Throw(_)) && !file.within(second, *last) && !leaves
}

/// Calls that keep all that was changed before.
const KEEPS: &[&str] = &["commit", "save", "flush"];
/// Calls that take something back.
const TAKES_BACK: &[&str] =
    &["delete", "remove", "rollback", "undo", "revert", "detach", "discard", "reset"];

/// Whether the second call keeps something else: what the handler has taken back before it,
/// `catch (E) { work.Users.Delete(user); work.Commit(); }`.
pub(super) fn takes_back(file: &File<'_, '_>, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(first) else { return false };
    let keeps = tree.last_name(*callee).is_some_and(|name| words::any(name, KEEPS));
    let Some(handler) = handler_of(file, first, second).filter(|_| keeps && args.len() <= 1) else {
        return false;
    };
    let end = tree.span(second).start;
    tree.walk_here(handler).any(|at| match tree.kind(at) {
        Kind::Call { callee: other, .. } => {
            tree.span(at).start < end
                && tree.last_name(*other).is_some_and(|name| words::any(name, TAKES_BACK))
                && root(file, *other) == root(file, *callee)
        }
        _ => false,
    })
}

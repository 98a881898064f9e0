//! Batches that are gone through again because of what failed in them: `failed.append(one)` in the
//! inner loop, or `complete = False`, and the outer loop asks about it.

use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, LoopForm};

/// What puts an element into a list.
const COLLECTS: &[&str] = &["append", "push", "add", "Add", "push_back"];

/// Whether a call in a loop inside of this one leaves behind what this one asks about afterwards: a
/// list of what failed, or a flag. Both begin anew in each round.
pub(super) fn is_asked_about(file: &File<'_, '_>, call: Id, subject: Id) -> bool {
    let tree = file.tree;
    let Kind::Loop { form, body, .. } = tree.kind(subject) else { return false };
    let mut between = tree.ancestors(call).take_while(|up| *up != subject);
    // Of several loops in each other nobody says which one is the batch.
    let is_loop = |up: &Id| matches!(tree.kind(*up), Kind::Loop { .. });
    let Some(inner) = between.by_ref().find(is_loop) else { return false };
    if between.any(|up| is_loop(&up)) {
        return false;
    }
    let Kind::Loop { form: LoopForm::Each { .. } | LoopForm::Counted { .. }, body: rounds, .. } =
        tree.kind(inner)
    else {
        return false;
    };
    let left = tree.walk_here(*rounds).filter_map(|at| match tree.kind(at) {
        Kind::Call { callee, args, .. } if args.len() == 1 => match tree.kind(*callee) {
            Kind::Field { of, name } if COLLECTS.contains(name) => tree.last_name(*of),
            _ => None,
        },
        Kind::Assign { op: None, target, value } => {
            let left = match tree.kind(*value) {
                Kind::Bool(_) => true,
                // `failed = append(failed, one)`.
                Kind::Call { callee, args, .. } => {
                    matches!(tree.kind(*callee), Kind::Name("append"))
                        && args.first().is_some_and(|list| {
                            tree.last_name(list.value) == tree.last_name(*target)
                        })
                }
                _ => false,
            };
            left.then(|| tree.last_name(*target)).flatten()
        }
        _ => None,
    });
    let begins = |name: &str| {
        file.assigned(name).iter().any(|at| {
            let empty = match tree.kind(*at) {
                Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                    match tree.kind(*value) {
                        Kind::Bool(_) => true,
                        Kind::List(all) => all.is_empty(),
                        _ => false,
                    }
                }
                // `var failed []Item`.
                Kind::Let { value: None, .. } => true,
                _ => false,
            };
            empty && file.within(*at, *body) && !file.within(*at, inner)
        })
    };
    let speaks = |test: Id, name: &str| {
        tree.walk_here(test).any(|at| matches!(tree.kind(at), Kind::Name(own) if *own == name))
    };
    let asked = |name: &str| {
        let head = match form {
            LoopForm::While(test) | LoopForm::DoWhile(test) => speaks(*test, name),
            _ => false,
        };
        head || tree.walk_here(*body).any(|at| match tree.kind(at) {
            Kind::If { test, .. } => !file.within(at, inner) && speaks(*test, name),
            _ => false,
        })
    };
    let names: std::collections::BTreeSet<&str> = left.collect();
    names.into_iter().any(|name| begins(name) && asked(name))
}

/// Whether a call in loops inside of this one is made for one of several that would do, and the
/// first that goes well ends it all: each host in turn, and then from the first one again.
pub(super) fn goes_round(file: &File<'_, '_>, call: Id, subject: Id) -> bool {
    let tree = file.tree;
    let Kind::Loop { form, label, body, .. } = tree.kind(subject) else { return false };
    if matches!(form, LoopForm::Each { .. }) {
        return false;
    }
    let loops = tree.ancestors(call).take_while(|up| *up != subject);
    let mut outermost = None;
    for up in loops {
        match tree.kind(up) {
            Kind::Loop { form: LoopForm::Each { .. }, body, .. } => outermost = Some(*body),
            Kind::Loop { .. } => return false,
            _ => {}
        }
    }
    let Some(rounds) = outermost else { return false };
    let path = match tree.kind(call) {
        Kind::Call { callee, .. } => tree.path(*callee).unwrap_or_default(),
        _ => return false,
    };
    let ends = |at: Id| match tree.kind(at) {
        Kind::Return(value) => value.is_some(),
        Kind::Break { label: Some(own), .. } => Some(*own) == *label,
        _ => false,
    };
    words::leaves_the_process(&path)
        && tree.walk_here(rounds).any(ends)
        && tree.walk_here(*body).any(|at| waits(file, at))
}

/// Whether a call waits, in one of a `select` too.
fn waits(file: &File<'_, '_>, at: Id) -> bool {
    let Kind::Call { callee, args, .. } = file.tree.kind(at) else { return false };
    let called = file.called(at, *callee, args);
    called.sleep.is_some() || matches!(called.path[..], ["time", "After"] | ["time", "NewTimer"])
}

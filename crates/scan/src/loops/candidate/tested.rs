//! What conditions speak of, also by way of what was made of it.

use foldhash::{HashSet, HashSetExt as _};

use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, LoopForm};

/// The names that conditions in a place speak of.
pub(super) fn tested<'s>(file: &File<'_, 's>, within: Id) -> HashSet<&'s str> {
    let tree = file.tree;
    let mut names = HashSet::new();
    let mut add = |id: Id| {
        for at in tree.walk(id) {
            if let Kind::Name(name) | Kind::Field { name, .. } = tree.kind(at) {
                names.insert(*name);
            }
        }
    };
    for at in tree.walk(within) {
        match tree.kind(at) {
            Kind::If { test, .. } => add(*test),
            Kind::Match { of, arms } => {
                of.iter().for_each(|of| add(*of));
                arms.iter()
                    .flat_map(|arm| arm.guard.iter().chain(&arm.patterns))
                    .for_each(|id| add(*id));
            }
            Kind::Loop { form, .. } => match form {
                LoopForm::While(test) | LoopForm::DoWhile(test) => add(*test),
                LoopForm::Counted { test: Some(test), .. } => add(*test),
                _ => {}
            },
            // `p.catch(again)`: a promise is asked how it went.
            Kind::Call { callee, args, .. } => match tree.kind(*callee) {
                Kind::Field { of, name } if words::ASKS.contains(name) => {
                    if let Kind::Name(_) = tree.kind(*of) {
                        add(*of);
                    }
                }
                Kind::Field { name, .. } if words::TOLD.contains(name) => {
                    args.first().into_iter().for_each(|arg| add(arg.value));
                }
                _ => {}
            },
            // `a && b()` as a statement, `return ok`.
            Kind::Binary { left, .. } if !matches!(tree.kind(*left), Kind::Number(_)) => add(*left),
            _ => {}
        }
    }
    made_of(file, within, &mut names);
    names
}

/// Adds what tested names are parts of: `code = response.status`, `data = response.json()`.
fn made_of<'s>(file: &File<'_, 's>, within: Id, names: &mut HashSet<&'s str>) {
    let tree = file.tree;
    // From the last one up, so that a part of a part is found in one pass.
    let kept: Vec<(Id, Id)> = tree
        .walk(within)
        .filter_map(|at| match tree.kind(at) {
            Kind::Let { target, value: Some(value), .. }
            | Kind::Assign { op: None, target, value } => Some((*target, *value)),
            _ => None,
        })
        .collect();
    for (target, value) in kept.into_iter().rev() {
        let tested = match tree.kind(target) {
            Kind::List(all) => {
                all.iter().any(|one| tree.last_name(*one).is_some_and(|name| names.contains(name)))
            }
            _ => tree.last_name(target).is_some_and(|name| names.contains(name)),
        };
        if tested {
            names.extend(part_of(file, value, 0));
        }
    }
}

/// The names that an expression is a part or a test of, and not another call's result.
fn part_of<'s>(file: &File<'_, 's>, value: Id, depth: u32) -> Vec<&'s str> {
    let tree = file.tree;
    let inner = |id: Id| part_of(file, id, depth + 1);
    if depth > 8 {
        return Vec::new();
    }
    match tree.kind(value) {
        Kind::Name(name) => vec![*name],
        Kind::Field { of, .. }
        | Kind::Index { of, .. }
        | Kind::Await(of)
        | Kind::Propagate(of)
        | Kind::Unary { of, .. } => inner(*of),
        Kind::Call { callee, .. } => match tree.kind(*callee) {
            Kind::Field { of, .. } => inner(*of),
            _ => Vec::new(),
        },
        Kind::Binary { left, right, .. } => [inner(*left), inner(*right)].concat(),
        Kind::Other(all) => match all[..] {
            [only] => inner(only),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

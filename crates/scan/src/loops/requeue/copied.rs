//! What failed is copied, with a count of its attempts that is one more, and the copy is given back
//! to who asked: `again = job.copy(); again.meta["tries"] = tries; return again`. Whoever takes it
//! does it again.

use super::back::Back;
use super::counter::Counter;
use super::{counted, finding, limit, way_on};
use crate::loops::Finding;
use crate::loops::candidate::root;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Such a copy, held to a limit in a function that says that it is about another attempt.
pub(super) fn judge(file: &File<'_, '_>, counter: &Counter) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Function { body, .. } = tree.kind(counter.function) else { return None };
    if !file.function_name(counter.function).is_some_and(words::about_retry) {
        return None;
    }
    tree.walk_here(*body).find_map(|at| {
        let Kind::If { test, then, otherwise } = tree.kind(at) else { return None };
        let (bound, op) = limit(file, *test, &counter.path)?;
        let copy = |within: Id| given_back(file, within, counter);
        // The count may be put into the copy in one statement, and given back in another.
        let after = |rest: &[Id]| {
            let block = tree.parent(at)?;
            rest.iter().find_map(|id| returned(file, *id, block, counter))
        };
        let (allowed, back) = way_on(file, at, (*then, *otherwise), copy, after)?;
        let first = tree.span(counter.at).start < tree.span(*test).start;
        let attempts = counted(file, bound, op, (allowed, first))?;
        Some(finding(file, counter, at, attempts, &back))
    })
}

fn given_back(file: &File<'_, '_>, within: Id, counter: &Counter) -> Option<Back> {
    let tree = file.tree;
    tree.walk_here(within).find_map(|at| returned(file, at, within, counter))
}

/// Whether a `return` gives something back that was given the count.
fn returned(file: &File<'_, '_>, at: Id, within: Id, counter: &Counter) -> Option<Back> {
    let tree = file.tree;
    let Kind::Return(Some(value)) = tree.kind(at) else { return None };
    let counts = |id: Id| {
        tree.walk_here(id).any(|at| match tree.kind(at) {
            Kind::Name(name) => *name == counter.name,
            _ => at == counter.at,
        })
    };
    let copy = match tree.kind(*value) {
        // `return again`, of which a part was given the count.
        Kind::Name(name) => tree.walk_here(within).any(|at| match tree.kind(at) {
            Kind::Assign { op: None, target, value } => {
                matches!(tree.kind(*target), Kind::Field { .. } | Kind::Index { .. })
                    && root(file, *target) == Some(name)
                    && counts(*value)
            }
            _ => false,
        }),
        // `return { ...job, tries }`.
        Kind::Record { entries, .. } => entries.iter().any(|entry| counts(entry.value)),
        // `return replace(job, tries=tries)`.
        Kind::Call { callee, args, .. } => {
            let copies = &["copy", "replace", "clone", "with", "evolve", "assign"];
            tree.last_name(*callee).is_some_and(|last| words::any(last, copies))
                && args.iter().any(|arg| counts(arg.value))
        }
        _ => false,
    };
    copy.then_some(Back { at, due: None, at_once: true })
}

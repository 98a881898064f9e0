//! The same call once more where the first one failed, in one expression or statement: in a chain
//! (`f().or_else(|_| f())`), or in the arm or branch of the error.

use super::operation::may_be_operation;
use super::{Candidate, Shape, statement};
use crate::loops::file::File;
use crate::tree::{Id, Kind, Op};

/// Methods of a result that are given what to do where there is none.
pub(super) const INSTEAD: &[&str] = &[
    "or_else",
    "unwrap_or_else",
    "getOrElse",
    "recover",
    "recoverCatching",
    "recoverWith",
    "exceptionally",
    "exceptionallyCompose",
    "onErrorResume",
    "onErrorResumeNext",
    "catch",
    "catchError",
    "rescue",
    "onFailure",
];

/// Whether a function calls what it is given, and gives what that gave.
fn runs(name: &str) -> bool {
    matches!(name, "runCatching" | "catching" | "supplyAsync" | "fromCallable" | "defer" | "Try")
}

/// Patterns of what failed.
const FAILED: &[&str] = &["Err", "Failure", "Left", "Error"];

/// The candidate of a chain in which the same call stands before and in what is done instead.
pub(super) fn in_a_chain(file: &File<'_, '_>, id: Id) -> Option<Candidate> {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    let Kind::Field { of, name } = tree.kind(*callee) else { return None };
    // The second one that `then` is given is for what failed.
    let given = match *name {
        "then" => args.get(1..)?,
        name if INSTEAD.contains(&name) => &args[..],
        _ => return None,
    };
    let instead = given
        .iter()
        .map(|arg| arg.value)
        .find(|arg| matches!(tree.kind(*arg), Kind::Function { .. }))?;
    let may = |call: &Id| match tree.kind(*call) {
        Kind::Call { callee, new, .. } => may_be_operation(file, *call, *callee, *new),
        _ => false,
    };
    let others: Vec<Id> = tree.walk(instead).filter(may).collect();
    // What is done first in between makes it another thing: it repairs, it looks elsewhere.
    let second = *others.first()?;
    let text = file.squeezed(second);
    let same = |call: &Id| may(call) && file.squeezed(*call) == text;
    // What a function in the chain does when all went well is not what failed; `runCatching` calls its own.
    let first = match tree.kind(*of) {
        Kind::Call { callee, .. } if tree.last_name(*callee).is_some_and(runs) => {
            tree.walk(*of).find(same)
        }
        _ => tree.walk_here(*of).find(same),
    }?;
    let entry = statement(file, id).unwrap_or(id);
    Some(Candidate {
        shape: Shape::Repeat,
        entry,
        subject: None,
        recursive: None,
        place: entry,
        groups: vec![vec![first, second]],
    })
}

/// Whether the second call stands in the arm or the branch that is taken where the first one, which
/// is asked about there, failed.
pub(super) fn answers_failure(file: &File<'_, '_>, first: Id, second: Id) -> Option<Id> {
    let tree = file.tree;
    let failed = |pattern: &Id| {
        let head = match tree.kind(*pattern) {
            Kind::Call { callee, .. } => *callee,
            Kind::Record { ty: Some(ty), .. } => *ty,
            _ => *pattern,
        };
        tree.last_name(head).is_some_and(|name| FAILED.contains(&name))
    };
    let mut inner = second;
    for up in tree.ancestors(second) {
        match tree.kind(up) {
            Kind::Match { of: Some(of), arms } if file.within(first, *of) => {
                let arm = arms.iter().find(|arm| arm.body == inner)?;
                return arm.patterns.iter().any(failed).then_some(arm.body);
            }
            Kind::If { test, then, otherwise } if is_asked(file, first, *test) => {
                return (*then == inner || *otherwise == Some(inner)).then_some(inner);
            }
            Kind::Function { .. } => return None,
            _ => {}
        }
        inner = up;
    }
    None
}

/// Whether a condition asks whether a call went well, and not for some part of what it gave:
/// `!f()`, `f().is_err()`, `f() == null`.
fn is_asked(file: &File<'_, '_>, call: Id, test: Id) -> bool {
    let tree = file.tree;
    let mut inner = call;
    if call == test {
        return true;
    }
    for up in tree.ancestors(call) {
        let asks = match tree.kind(up) {
            Kind::Await(_) | Kind::Propagate(_) | Kind::Unary { op: Op::Not, .. } => true,
            Kind::Binary { op: Op::And | Op::Matches, .. } => true,
            Kind::Binary { op: Op::Equal | Op::NotEqual, right, .. } => {
                matches!(tree.kind(*right), Kind::Null | Kind::Bool(_))
            }
            Kind::Field { name, .. } => {
                matches!(*name, "is_err" | "is_ok" | "is_none" | "isFailure")
            }
            Kind::Call { callee, .. } => *callee == inner,
            _ => false,
        };
        if !asks {
            return false;
        }
        if up == test {
            return true;
        }
        inner = up;
    }
    false
}

/// Whether that is the first thing that is done about it.
pub(super) fn at_once(file: &File<'_, '_>, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let Some(branch) = answers_failure(file, first, second) else { return false };
    let first_done = tree.walk(branch).find(|at| match tree.kind(*at) {
        Kind::Call { callee, new, .. } => may_be_operation(file, *at, *callee, *new),
        _ => false,
    });
    first_done == Some(second)
}

//! Arguments that only tell an operation which attempt it is: they make it no other one.

use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, Op};

/// Words of a parameter that is the number of the attempt.
const COUNTS: &[&str] = &["attempt", "attempts", "try", "tries", "retry", "retries"];

/// Whether an argument of a call says which attempt it is, or whether it is the first or the last:
/// `operation(attempt)`, `ping(attempt < limit)`.
pub(super) fn is_told(file: &File<'_, '_>, call: Id, at: usize) -> bool {
    let Kind::Call { callee, args, .. } = file.tree.kind(call) else { return false };
    let Some(arg) = args.get(at) else { return false };
    match file.tree.kind(arg.value) {
        // What is handed in may be told which attempt it is.
        Kind::Name(name) => {
            is_handed_in(file, call, *callee) && words::any(name, words::COUNTERS)
                || takes_attempt(file, call, at)
        }
        _ => is_question(file, arg.value),
    }
}

/// Whether all names in an expression stand in comparisons, or are flags by themselves, and one is
/// compared.
fn is_question(file: &File<'_, '_>, id: Id) -> bool {
    let flag = |id: &Id| matches!(file.tree.kind(*id), Kind::Name(_) | Kind::Field { .. });
    let asks = |id: &Id| is_question(file, *id);
    match file.tree.kind(id) {
        Kind::Binary { op: Op::And | Op::Or, left, right } => {
            let sides = [*left, *right];
            sides.iter().any(asks) && sides.iter().all(|side| asks(side) || flag(side))
        }
        Kind::Unary { op: Op::Not, of } => flag(of) || asks(of),
        Kind::Binary { op, left, right } => {
            let order = matches!(
                op,
                Op::Equal | Op::NotEqual | Op::Less | Op::AtMost | Op::Greater | Op::AtLeast
            );
            let plain = |side: &Id| {
                !file.tree.walk(*side).any(|at| matches!(file.tree.kind(at), Kind::Call { .. }))
            };
            order && plain(left) && plain(right)
        }
        Kind::Other(all) => matches!(&all[..], [only] if asks(only)),
        _ => false,
    }
}

/// Whether the function that is called says of an argument that it is the number of the attempt.
fn takes_attempt(file: &File<'_, '_>, call: Id, at: usize) -> bool {
    let function = file.callee(call).map(|function| file.tree.kind(function));
    match function {
        Some(Kind::Function { params, .. }) => params
            .get(at)
            .is_some_and(|param| words::about_retry(param.name) && words::any(param.name, COUNTS)),
        _ => false,
    }
}

/// Whether what is called is a parameter of a function around it.
fn is_handed_in(file: &File<'_, '_>, call: Id, callee: Id) -> bool {
    let Kind::Name(name) = file.tree.kind(callee) else { return false };
    file.tree.ancestors(call).any(|up| match file.tree.kind(up) {
        Kind::Function { params, .. } => params.iter().any(|param| param.name == *name),
        _ => false,
    })
}

//! Where something failed: the handler of a `try`, the branch of an error, the arm of one; and what
//! was done before.

use super::leaves;
use crate::language::Language;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, Op};

/// A piece of code that runs only because something failed.
pub(super) struct Failed {
    /// All of it: the `try`, the `if`, the `match`.
    pub(super) place: Id,
    /// What runs then.
    pub(super) region: Id,
    /// What failed; nothing where somebody else says so.
    pub(super) work: Vec<Id>,
}

/// The places in a node at which something failed, if it is one that knows.
pub(super) fn failures(file: &File<'_, '_>, id: Id) -> Vec<Failed> {
    let tree = file.tree;
    match tree.kind(id) {
        Kind::Try { body, handlers, .. } => handlers
            .iter()
            .map(|handler| Failed { place: id, region: handler.body, work: vec![*body] })
            .collect(),
        Kind::If { test, then, otherwise } => {
            let Some((holds, work)) = fails(file, *test) else { return Vec::new() };
            let region = if holds { Some(*then) } else { *otherwise };
            // `if err == nil { return }`, and what follows it.
            let region = region.or_else(|| tree.parent(id).filter(|_| leaves(file, *then)));
            region.map(|region| Failed { place: id, region, work }).into_iter().collect()
        }
        Kind::Match { of: Some(of), arms } => {
            let error = |pattern: &Id| match tree.kind(*pattern) {
                Kind::Call { callee, .. } => {
                    matches!(tree.last_name(*callee), Some("Err" | "Failure" | "Left"))
                }
                _ => false,
            };
            arms.iter()
                .filter(|arm| arm.patterns.iter().any(error))
                .map(|arm| Failed { place: id, region: arm.body, work: vec![*of] })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a condition asks if something failed: whether it holds then, and what it was.
fn fails(file: &File<'_, '_>, test: Id) -> Option<(bool, Vec<Id>)> {
    let tree = file.tree;
    match tree.kind(test) {
        // `err != nil`.
        Kind::Binary { op: op @ (Op::NotEqual | Op::Equal), left, right }
            if matches!(tree.kind(*right), Kind::Null)
                && file.language == Language::Go
                && tree.last_name(*left).is_some_and(is_error) =>
        {
            Some((*op == Op::NotEqual, before(file, test, tree.last_name(*left)?)?))
        }
        // `if let Err(e) = send(&item)`.
        Kind::Binary { op: Op::Matches, left, right } => {
            let error = matches!(tree.kind(*right), Kind::Call { callee, .. }
                if tree.last_name(*callee) == Some("Err"));
            error.then(|| (true, vec![*left]))
        }
        // `err != nil && temporary(err)`.
        Kind::Binary { op: Op::And, left, right } => {
            [*left, *right].into_iter().find_map(|part| fails(file, part).filter(|it| it.0))
        }
        // A type or a kind of error: `errors.Is(err, ErrBusy)`.
        Kind::Call { args, .. } if file.language == Language::Go => {
            let error = args.iter().find_map(|arg| match tree.kind(arg.value) {
                Kind::Name(name) => is_error(name).then_some(*name),
                _ => None,
            })?;
            Some((true, before(file, test, error)?))
        }
        _ => None,
    }
}

fn is_error(name: &str) -> bool {
    words::any(name, &["err", "error"])
}

/// The last statement before a question that gave a name its value; of `if err := f(); err != nil`
/// the one in its head.
fn before(file: &File<'_, '_>, place: Id, name: &str) -> Option<Vec<Id>> {
    let tree = file.tree;
    let start = tree.span(place).start;
    let home = tree.function_of(place);
    let last = file.assigned(name).iter().rfind(|at| {
        tree.span(**at).start < start && tree.function_of(**at) == home && !file.within(place, **at)
    });
    // The function is given the error.
    let given = || match tree.kind(home?) {
        Kind::Function { name: Some(_), params, .. } => {
            params.iter().any(|param| param.name == name).then(Vec::new)
        }
        _ => None,
    };
    last.map(|last| vec![*last]).or_else(given)
}

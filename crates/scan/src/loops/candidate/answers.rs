//! Where a call leaves its answer, and what a call is made of.

use foldhash::HashSet;

use super::repeat::plain;
use crate::language::Language;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// The names that a call may change: `&mut position` of Rust, and elsewhere what only holds a
/// reference, so that a call can leave its answer there: `new AtomicReference<>()`.
pub(in crate::loops) fn changed_by<'s>(file: &File<'_, 's>, call: Id) -> Vec<&'s str> {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(call) else { return Vec::new() };
    let lent = |id: Id, name: &str| match file.language {
        Language::Rust => {
            let before = tree.text().get(..tree.span(id).start as usize).unwrap_or_default();
            before.trim_end().ends_with("&mut")
        }
        Language::Java | Language::Kotlin => holds_a_reference(file, name),
        _ => false,
    };
    let names = args.iter().filter_map(|arg| match tree.kind(arg.value) {
        Kind::Name(name) => lent(arg.value, name).then_some(*name),
        _ => None,
    });
    names.collect()
}

/// The channels of Go that a call is given, if one of them is for errors: how it went comes out of
/// them. `go load(results, errs)` of `errs := make(chan error)`.
pub(in crate::loops) fn told_through<'s>(file: &File<'_, 's>, call: Id) -> Vec<(&'s str, bool)> {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(call) else { return Vec::new() };
    if file.language != Language::Go {
        return Vec::new();
    }
    let made = |name: &str| {
        file.assigned(name).iter().any(|at| match tree.kind(*at) {
            Kind::Let { value: Some(value), .. } => tree.source(*value).starts_with("make(chan"),
            _ => false,
        })
    };
    let names = args.iter().filter_map(|arg| match tree.kind(arg.value) {
        Kind::Name(name) if made(name) => {
            Some((*name, words::any(name, &["err", "errs", "error", "errors"])))
        }
        _ => None,
    });
    let all: Vec<(&str, bool)> = names.collect();
    if all.iter().any(|(_, errors)| *errors) { all } else { Vec::new() }
}

/// Whether a name holds an empty reference for what somebody else finds out.
fn holds_a_reference(file: &File<'_, '_>, name: &str) -> bool {
    let tree = file.tree;
    file.assigned(name).iter().any(|at| match tree.kind(*at) {
        Kind::Let { value: Some(value), .. } => match tree.kind(*value) {
            Kind::Call { callee, args, .. } => {
                args.is_empty()
                    && tree.last_name(*callee).is_some_and(|made| {
                        matches!(made, "AtomicReference" | "AtomicBoolean" | "Holder")
                    })
            }
            _ => false,
        },
        _ => false,
    })
}

/// Whether a call is one of those between which an element chooses: `match hosts[i] { … }`.
pub(super) fn chosen_by(file: &File<'_, '_>, call: Id, within: Id, vars: &HashSet<&str>) -> bool {
    let mut inner = call;
    for up in file.tree.ancestors(call).take_while(|up| *up != within) {
        if let Kind::Match { of: Some(of), .. } = file.tree.kind(up)
            && *of != inner
            && matches!(file.tree.kind(*of), Kind::Name(_) | Kind::Index { .. })
            && mentions(file, *of, vars)
        {
            return true;
        }
        inner = up;
    }
    false
}

/// Whether two calls of the same give an answer to the same name, or leave it in the same
/// reference: what was not done the first time is asked for the second.
pub(super) fn same_answer(file: &File<'_, '_>, one: Id, other: Id) -> bool {
    let tree = file.tree;
    let callee = |call: Id| match tree.kind(call) {
        Kind::Call { callee, .. } => file.squeezed(*callee),
        _ => String::new(),
    };
    let target = |call: Id| match tree.kind(tree.parent(call)?) {
        Kind::Let { target, .. } | Kind::Assign { op: None, target, .. } => tree.last_name(*target),
        _ => changed_by(file, call).first().copied(),
    };
    let made_of_it = |name: &str| {
        let Kind::Call { args, .. } = tree.kind(other) else { return false };
        args.iter().any(|arg| {
            tree.walk(arg.value).any(|at| match tree.kind(at) {
                Kind::Field { name, .. } => words::left_over(name),
                _ => false,
            }) && tree
                .walk(arg.value)
                .any(|at| matches!(tree.kind(at), Kind::Name(own) if *own == name))
        })
    };
    callee(one) == callee(other)
        && target(one).is_some_and(|name| target(other) == Some(name) && made_of_it(name))
}

/// Whether two calls are the same, but for copies: `send(request)`, and for the second time
/// `send(retryRequest)` or what was built as the first was.
pub(super) fn same_but_for_copies(file: &File<'_, '_>, one: Id, other: Id) -> bool {
    alike(file, one, other, 0)
}

fn alike(file: &File<'_, '_>, one: Id, other: Id, depth: u32) -> bool {
    let tree = file.tree;
    if depth > 8 {
        return false;
    }
    let inner = |one: Id, other: Id| alike(file, one, other, depth + 1);
    match (tree.kind(one), tree.kind(other)) {
        (Kind::Call { callee: a, args: of_a, .. }, Kind::Call { callee: b, args: of_b, .. }) => {
            let pairs = of_a.iter().zip(of_b);
            inner(*a, *b)
                && of_a.len() == of_b.len()
                && pairs.into_iter().all(|(a, b)| a.name == b.name && inner(a.value, b.value))
        }
        (Kind::Field { of: a, name: of_a }, Kind::Field { of: b, name: of_b }) => {
            of_a == of_b && inner(*a, *b)
        }
        (Kind::Name(a), Kind::Name(b)) => {
            a == b || plain(a) == plain(b) || made_as(file, a, b, one)
        }
        _ => file.squeezed(one) == file.squeezed(other),
    }
}

/// Whether two names of a function are given what is written the same way.
fn made_as(file: &File<'_, '_>, one: &str, other: &str, place: Id) -> bool {
    let tree = file.tree;
    let home = tree.function_of(place);
    let made = |name: &str| {
        let mut all = file.assigned(name).iter().filter_map(|at| match tree.kind(*at) {
            Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                (tree.function_of(*at) == home).then_some(*value)
            }
            _ => None,
        });
        let only = all.next().filter(|_| all.next().is_none())?;
        let made = tree.walk_here(only).any(|at| matches!(tree.kind(at), Kind::Call { .. }));
        made.then(|| file.squeezed(only))
    };
    made(one).is_some_and(|text| made(other).as_ref() == Some(&text))
}

/// Whether something in an expression is one of these names, or a text with one of them in it.
pub(super) fn mentions(file: &File<'_, '_>, id: Id, vars: &HashSet<&str>) -> bool {
    file.tree.walk(id).any(|at| match file.tree.kind(at) {
        Kind::Name(name) => vars.contains(name) && !words::about_retry(name),
        // Placeholders of a text.
        Kind::Text(_) if !vars.is_empty() => {
            let text = file.tree.source(at);
            text.contains(['{', '$'])
                && text.split(['{', '}', '$', '.', ':', '(', ')', ' ', '#']).any(|part| {
                    !part.is_empty() && vars.contains(part) && !words::about_retry(part)
                })
        }
        _ => false,
    })
}

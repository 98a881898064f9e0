//! The same call twice in a function, the second time because the first failed.

use std::collections::{HashMap, HashSet};

use super::operation::{may_be_operation, observable, tested};
use super::{Candidate, Shape, statement};
use crate::loops::file::File;
use crate::tree::{Id, Kind};

/// More of them in one function are not looked at.
const MOST_REPEATS: usize = 24;

/// The same call, argument by argument, more than once in a function.
pub(super) fn repeats(file: &File<'_, '_>, body: Id) -> Vec<Candidate> {
    let tree = file.tree;
    let mut groups: HashMap<String, Vec<Id>> = HashMap::new();
    let mut order = Vec::new();
    // Few names are called twice in a function: only their texts are compared.
    let mut names: HashMap<&str, u32> = HashMap::new();
    for call in tree.walk_here(body) {
        if let Kind::Call { callee, .. } = tree.kind(call) {
            *names.entry(tree.last_name(*callee).unwrap_or_default()).or_default() += 1;
        }
    }
    for call in tree.walk_here(body) {
        let Kind::Call { callee, new, .. } = tree.kind(call) else { continue };
        if order.len() > 400 {
            break;
        }
        if names.get(tree.last_name(*callee).unwrap_or_default()).is_none_or(|count| *count < 2) {
            continue;
        }
        if !may_be_operation(file, call, *callee, *new) {
            continue;
        }
        let key = file.squeezed(call);
        let known = groups.entry(key.clone()).or_default();
        if known.is_empty() {
            order.push(key);
        }
        known.push(call);
    }
    let mut out = Vec::new();
    let mut tests: Option<HashSet<&str>> = None;
    for key in order {
        let Some(calls) = groups.remove(&key) else { continue };
        if calls.len() < 2 || calls.len() > 6 || out.len() >= MOST_REPEATS {
            continue;
        }
        let Some(entry) = statement(file, calls[0]) else { continue };
        // The first of them has to fail, and somebody has to see it.
        if tests.is_none() {
            tests = Some(tested(file, body));
        }
        if !tests.as_ref().is_some_and(|tests| observable(file, calls[0], body, tests)) {
            continue;
        }
        if calls.iter().any(|call| is_argument(file, *call)) {
            continue;
        }
        if guarded(file, calls[0]) || changed(file, body, calls[0], calls[1]) {
            continue;
        }
        if !(file.in_handler(calls[1]) || kept(file, calls[0]) && kept(file, calls[1])) {
            continue;
        }
        out.push(Candidate {
            shape: Shape::Repeat,
            entry,
            subject: None,
            recursive: None,
            place: entry,
            groups: vec![calls],
        });
    }
    out
}

/// Whether a call only makes an argument of another.
fn is_argument(file: &File<'_, '_>, call: Id) -> bool {
    let mut inner = call;
    for up in file.tree.ancestors(call) {
        match file.tree.kind(up) {
            Kind::Call { args, .. } => return args.iter().any(|arg| arg.value == inner),
            Kind::Await(_) | Kind::Propagate(_) | Kind::Field { .. } | Kind::Binary { .. } => {}
            _ => return false,
        }
        inner = up;
    }
    false
}

/// Whether a call is only made on a condition inside of its `try`: then it is a step of handling
/// something, and not what was tried.
fn guarded(file: &File<'_, '_>, call: Id) -> bool {
    let mut inner = call;
    let mut branch = false;
    for up in file.tree.ancestors(call) {
        match file.tree.kind(up) {
            Kind::If { test, .. } => branch |= *test != inner,
            Kind::Try { body, handlers, .. } => {
                return (branch && *body == inner)
                    || handlers.iter().any(|handler| handler.body == inner);
            }
            Kind::Function { .. } => return false,
            _ => {}
        }
        inner = up;
    }
    false
}

/// Whether an argument is given another value between two calls.
fn changed(file: &File<'_, '_>, body: Id, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(first) else { return false };
    let (from, to) = (tree.span(first).end, tree.span(second).start);
    // `x.flags = …` changes what `f(&x)` does.
    let fields: Vec<&str> = tree
        .walk_here(body)
        .filter(|id| {
            let span = tree.span(*id);
            span.start > from && span.end < to
        })
        .filter_map(|id| match tree.kind(id) {
            Kind::Assign { target, .. } => match tree.kind(*target) {
                Kind::Field { of, .. } => tree.last_name(*of),
                _ => None,
            },
            _ => None,
        })
        .collect();
    args.iter().any(|arg| {
        tree.walk(arg.value).any(|at| match tree.kind(at) {
            Kind::Name(name) if fields.contains(name) => true,
            Kind::Name(name) => file.assigned(name).iter().any(|place| {
                let start = tree.span(*place).start;
                // The statement of the second call itself begins before it.
                start > from && tree.span(*place).end < to && file.within(*place, body)
            }),
            _ => false,
        })
    })
}

/// Whether the result of a call is kept. A second call that is made for its result keeps it too.
fn kept(file: &File<'_, '_>, call: Id) -> bool {
    let tree = file.tree;
    let mut inner = call;
    for up in tree.ancestors(call) {
        match tree.kind(up) {
            Kind::Let { value: Some(value), .. } => return *value == inner,
            Kind::Assign { value, .. } => return *value == inner,
            Kind::Return(_) => return true,
            Kind::Await(_) | Kind::Propagate(_) => {}
            _ => return false,
        }
        inner = up;
    }
    false
}

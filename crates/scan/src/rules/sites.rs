//! Where a policy's code is in its tree.

use crate::policy::Policy;
use crate::tree::{Handler, Id, Kind, Op, Tree};

/// What runs at each attempt: everything in the lines of a policy, and the body of a function that
/// it decorates. Parents come first.
pub(super) fn inside(tree: &Tree<'_>, policy: &Policy) -> Vec<Id> {
    let mut all = Vec::new();
    for id in tree.touching(policy.line, policy.end_line) {
        let span = tree.span(id);
        if policy.line <= span.line && span.end_line <= policy.end_line {
            all.push(id);
        }
        if let Kind::Function { decorators, body, .. } = tree.kind(id)
            && decorators.iter().any(|decorator| {
                let span = tree.span(*decorator);
                span.line <= policy.line && policy.end_line <= span.end_line
            })
        {
            all.extend(tree.walk(*body));
        }
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|id| seen.insert(*id));
    all
}

/// The statement that is the policy: the outermost node with exactly its lines.
pub(super) fn place(tree: &Tree<'_>, policy: &Policy) -> Option<Id> {
    inside(tree, policy).into_iter().find(|id| {
        let span = tree.span(*id);
        span.line == policy.line
            && span.end_line == policy.end_line
            && !matches!(tree.kind(*id), Kind::Block(_))
    })
}

/// What a call is called: its path, or its last name if it is called on an expression.
pub(super) fn name_of(tree: &Tree<'_>, callee: Id) -> Option<String> {
    let path = tree.path(callee).map(|path| path.join("."));
    path.or_else(|| tree.last_name(callee).map(str::to_owned))
}

/// What a call is called, for people: without its arguments, which a callee of Java has in it.
pub(super) fn shown(tree: &Tree<'_>, callee: Id) -> String {
    let text = tree.source(callee);
    let end = tree.last_name(callee).and_then(|name| Some(text.rfind(name)? + name.len()));
    let text = text.get(..end.unwrap_or(text.len())).unwrap_or(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(60).collect()
}

/// Whether a name is this one, or ends with it after a dot.
pub(super) fn ends(name: &str, end: &str) -> bool {
    name == end || name.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'))
}

/// The handlers of exceptions among these nodes.
pub(super) fn handlers<'t, 's>(
    tree: &'t Tree<'s>,
    all: &'t [Id],
) -> impl Iterator<Item = &'t Handler<'s>> {
    all.iter().flat_map(|id| match tree.kind(*id) {
        Kind::Try { handlers, .. } => handlers.as_slice(),
        _ => &[],
    })
}

/// What runs after a failure: handlers of exceptions, `if err != nil`, `Err(e) =>`, and closures
/// that are given to `catch`.
pub(super) fn failure_paths(tree: &Tree<'_>, all: &[Id]) -> Vec<Id> {
    let mut paths: Vec<Id> = handlers(tree, all).map(|handler| handler.body).collect();
    for id in all {
        match tree.kind(*id) {
            Kind::If { test, then, otherwise } => match failed(tree, *test) {
                Some(true) => paths.push(*then),
                Some(false) => paths.extend(otherwise),
                None => {}
            },
            // `if err == nil { return … }`: what follows it.
            Kind::Block(all) => {
                if let Some(at) = all.iter().position(|id| succeeds(tree, *id)) {
                    paths.extend(&all[at + 1..]);
                }
            }
            Kind::Match { arms, .. } => paths.extend(
                arms.iter()
                    .filter(|arm| arm.patterns.iter().any(|one| is_err(tree.source(*one))))
                    .map(|arm| arm.body),
            ),
            Kind::Call { callee, args, .. } if tree.last_name(*callee) == Some("catch") => {
                paths.extend(args.iter().filter_map(|arg| match tree.kind(arg.value) {
                    Kind::Function { body, .. } => Some(*body),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    paths
}

/// Whether a statement leaves after a success.
fn succeeds(tree: &Tree<'_>, id: Id) -> bool {
    match tree.kind(id) {
        Kind::If { test, then, .. } => failed(tree, *test) == Some(false) && leaves(tree, *then),
        // `if x, err := f(); err == nil`: a block with what comes before.
        Kind::Block(all) => all.last().is_some_and(|last| {
            matches!(tree.kind(*last), Kind::If { .. }) && succeeds(tree, *last)
        }),
        _ => false,
    }
}

fn is_err(text: &str) -> bool {
    text.starts_with("Err(")
}

/// Whether a test holds after a failure (`Some(true)`) or after a success.
fn failed(tree: &Tree<'_>, test: Id) -> Option<bool> {
    let null = |id: &Id| matches!(tree.kind(*id), Kind::Null);
    let error =
        |id: &Id| tree.last_name(*id).is_some_and(|name| name.to_lowercase().contains("err"));
    match tree.kind(test) {
        Kind::Binary { op: Op::NotEqual, left, right } if null(right) && error(left) => Some(true),
        Kind::Binary { op: Op::Equal, left, right } if null(right) && error(left) => Some(false),
        Kind::Binary { op: Op::And, left, .. } => failed(tree, *left),
        Kind::Binary { op: Op::Matches, .. } if is_err(pattern(tree.source(test))) => Some(true),
        _ => None,
    }
}

fn pattern(text: &str) -> &str {
    text.trim_start_matches("let").trim_start()
}

/// Whether a block leaves what is around it.
pub(super) fn leaves(tree: &Tree<'_>, block: Id) -> bool {
    let last =
        |id: &Id| matches!(tree.kind(*id), Kind::Return(_) | Kind::Throw(_) | Kind::Break { .. });
    match tree.kind(block) {
        Kind::Block(all) => all.iter().any(last),
        _ => last(&block),
    }
}

/// Parts of a name of what limits retries across requests, without `_` and case.
const LIMITS: &[&str] =
    &["budget", "retryquota", "tokenbucket", "throttl", "breaker", "circuit", "ratelimiter"];

/// Whether the code of a policy asks something that limits it: `budget.take()`.
pub(super) fn limited(tree: &Tree<'_>, policy: &Policy) -> bool {
    inside(tree, policy).into_iter().any(|id| {
        let Kind::Call { callee, .. } = tree.kind(id) else { return false };
        let name = tree.source(*callee).to_ascii_lowercase().replace('_', "");
        LIMITS.iter().any(|limit| name.contains(limit))
    })
}

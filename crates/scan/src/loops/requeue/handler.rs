//! Re-queues without a count: the handler that caught the failure puts the item back.

use foldhash::{HashSet, HashSetExt as _};

use super::{MOST, policy, puts};
use crate::loops::file::File;
use crate::loops::words;
use crate::loops::{Finding, Sites};
use crate::policy::{Attempts, DelayKind, Jitter};
use crate::tree::{Handler, Id, Kind};

/// Where something is put that is done with: nobody takes it again.
const ENDS: &[&str] = &[
    "dead",
    "dlq",
    "failed",
    "failures",
    "failure",
    "error",
    "errors",
    "errs",
    "result",
    "results",
    "out",
    "output",
    "done",
    "response",
    "responses",
    "log",
    "logs",
    "history",
    "report",
    "event",
    "events",
    "exception",
    "exceptions",
    "reply",
    "completed",
    "finished",
    "invalid",
    "bad",
    "rejected",
    "skipped",
    "message",
    "messages",
];

/// What handlers put back.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let tree = file.tree;
    let mut out = Vec::new();
    for id in tree.ids() {
        let Kind::Try { body, handlers, .. } = tree.kind(id) else { continue };
        if out.len() >= MOST {
            break;
        }
        let Some(back) = handlers.iter().find_map(|handler| put_back(file, *body, handler)) else {
            continue;
        };
        let span = tree.span(id);
        let handler = handlers.iter().find(|handler| file.within(back, handler.body));
        let counted = tree
            .ancestors(back)
            .take_while(|up| *up != id)
            .any(|up| matches!(tree.kind(up), Kind::If { .. } | Kind::Match { .. }));
        let attempts = if counted {
            let expression = "what the handler asks for".to_owned();
            Attempts::Dynamic { expression, low: Some(1), high: None, usual: None }
        } else {
            Attempts::Infinite
        };
        let waits: Vec<Id> = handler.map_or(Vec::new(), |handler| waits(file, handler.body));
        let delay = if waits.is_empty() { DelayKind::None } else { DelayKind::Dynamic };
        let lines = [span.line, span.end_line];
        let policy = policy(file, lines, attempts, (delay, Jitter::None), back);
        let failure = handler.map(|handler| handler.body);
        out.push(Finding { policy, sites: Sites { place: id, operation: back, failure, waits } });
    }
    out
}

/// The call that puts back what the body of a `try` was given.
fn put_back(file: &File<'_, '_>, body: Id, handler: &Handler<'_>) -> Option<Id> {
    let tree = file.tree;
    let mut worked_on: Option<HashSet<&str>> = None;
    tree.walk_here(handler.body).find(|at| {
        let Kind::Call { callee, args, .. } = tree.kind(*at) else { return false };
        if !puts(file, *callee) || words::any(tree.source(*callee), ENDS) {
            return false;
        }
        let given = worked_on.get_or_insert_with(|| given(file, body));
        args.iter()
            .any(|arg| matches!(tree.kind(arg.value), Kind::Name(name) if given.contains(name)))
    })
}

/// The names that calls in a body are given, but for those that hand something on.
fn given<'s>(file: &File<'_, 's>, body: Id) -> HashSet<&'s str> {
    let tree = file.tree;
    let mut names = HashSet::new();
    for at in tree.walk_here(body) {
        if let Kind::Call { callee, args, .. } = tree.kind(at)
            && !puts(file, *callee)
            && !words::is_pure(
                &tree.path(*callee).unwrap_or_default(),
                tree.last_name(*callee).unwrap_or_default(),
            )
        {
            names.extend(args.iter().filter_map(|arg| match tree.kind(arg.value) {
                Kind::Name(name) => Some(*name),
                _ => None,
            }));
        }
    }
    names
}

/// The calls in a handler that wait.
fn waits(file: &File<'_, '_>, body: Id) -> Vec<Id> {
    let tree = file.tree;
    tree.walk_here(body)
        .filter(|at| match tree.kind(*at) {
            Kind::Call { callee, .. } => {
                let last = tree.last_name(*callee).unwrap_or_default();
                let path = tree.path(*callee).unwrap_or_else(|| vec!["", last]);
                words::sleep(file.language, &path, last).is_some()
            }
            _ => false,
        })
        .collect()
}

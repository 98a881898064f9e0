//! Failures that only the content of an answer tells: a page that says "please wait", an empty
//! list of results, a message without its part.
//!
//! The same form asks whether something has come about yet, which is no failure. What tells them
//! apart: a request is made, and what is looked at is no state that something passes through.

use super::Context;
use crate::loops::candidate::{Candidate, Shape};
use crate::loops::file::File;
use crate::loops::machine::{Trace, seen};
use crate::loops::words;
use crate::tree::{Id, Kind, LoopForm, Op};

/// States that something passes through by itself.
const STATES: &[&str] = &[
    "status",
    "state",
    "ready",
    "pending",
    "complete",
    "completed",
    "running",
    "finished",
    "progress",
    "done",
    "available",
    "processing",
    "processed",
    "phase",
    "exists",
    "exist",
    "alive",
    "healthy",
    "active",
    "started",
    "stopped",
    "synced",
    "height",
    "confirmed",
    "confirmations",
    "queued",
    "condition",
    "next",
    "more",
    "cursor",
    "page",
    "offset",
    "count",
    "remaining",
];

/// Verbs by which an answer is asked for anew.
const ASKS: &[&str] = &[
    "request",
    "fetch",
    "post",
    "send",
    "download",
    "upload",
    "query",
    "search",
    "scrape",
    "publish",
    "submit",
    "ask",
    "generate",
    "chat",
    "invoke",
    "completion",
    "complete",
    "crawl",
    "translate",
    "rpc",
    "login",
    "solve",
    "predict",
    "prompt",
];

/// Whether what lets a loop go is something in an answer that was no good: a request is made, and
/// again, a few times or because the code says so; or attempts are counted.
pub(super) fn decides(
    file: &File<'_, '_>,
    context: &Context,
    group: &[Id],
    trace: &Trace,
    endless: bool,
) -> bool {
    let waits = trace.waits.iter().any(|wait| wait.after > 0);
    let asks = words::any(&context.last, ASKS)
        && (context.named() || waits && !endless)
        && !looks_up(file, group);
    let counts = context.named() && waits && trace.counted && !endless;
    (asks || counts)
        && !trace.about.is_empty()
        && !trace.about.iter().any(|id| speaks_of_states(file, test_of(file, *id), group))
}

/// Whether the code says itself that it waits for something to come about, and no error is looked
/// at: it waits `POLLING_INTERVAL`, or calls the answer a poll.
pub(super) fn says_it_polls(context: &Context, trace: &Trace) -> bool {
    const SAYS: &[&str] = &[
        "polling_interval",
        "poll_interval",
        "pollinterval",
        "pollinginterval",
        "let poll =",
        "const poll =",
        "var poll =",
        "poll := ",
    ];
    trace.seen & (seen::CAUGHT | seen::ERROR) == 0
        && (context.polls || words::has(&context.text, SAYS))
}

/// Whether all that lets a loop go is a state that something passes through: what waits for it is
/// no retry, whatever it is called.
pub(super) fn is_awaited(
    file: &File<'_, '_>,
    candidate: &Candidate,
    group: &[Id],
    trace: &Trace,
) -> bool {
    trace.seen & !(seen::FALSY | seen::DOMAIN) == 0
        && candidate.shape != Shape::Repeat
        && file.tree.walk_here(candidate.place).any(|id| {
            let asks = matches!(file.tree.kind(id), Kind::If { .. } | Kind::Loop { .. });
            asks && compares_states(file, test_of(file, id), group)
        })
}

/// Whether a question compares a state: `result.State === "Active"`.
fn compares_states(file: &File<'_, '_>, test: Id, group: &[Id]) -> bool {
    let tree = file.tree;
    tree.walk_here(test).any(|at| match tree.kind(at) {
        Kind::Binary { op: Op::Equal | Op::NotEqual | Op::In | Op::NotIn, left, right } => {
            let text = matches!(tree.kind(*right), Kind::Text(_) | Kind::Field { .. });
            text && matches!(tree.kind(*left), Kind::Field { .. })
                && speaks_of_states(file, *left, group)
        }
        _ => false,
    })
}

/// Whether what is sent only asks how something is: `client.send(new DescribeTable(name))`.
fn looks_up(file: &File<'_, '_>, group: &[Id]) -> bool {
    let tree = file.tree;
    group.iter().any(|call| {
        let Kind::Call { args, .. } = tree.kind(*call) else { return false };
        args.iter().any(|arg| match tree.kind(arg.value) {
            Kind::Call { callee, new: true, .. } => tree.last_name(*callee).is_some_and(|name| {
                let all = words::words(name);
                all.first().is_some_and(|word| matches!(&**word, "describe" | "list" | "head"))
            }),
            _ => false,
        })
    })
}

/// Whether a question is about a state. What the answer itself is called says nothing (`page`),
/// and a text that is looked for is content: "Page not found".
fn speaks_of_states(file: &File<'_, '_>, test: Id, group: &[Id]) -> bool {
    let tree = file.tree;
    let answer = |name: &str| {
        file.assigned(name).iter().any(|at| group.iter().any(|op| file.within(*op, *at)))
    };
    // `ready = items.every((item) => item.state === "ready")`, which is asked about.
    let made_of_states = |name: &str| {
        file.assigned(name).iter().any(|at| match tree.kind(*at) {
            Kind::Assign { op: None, value, .. } | Kind::Let { value: Some(value), .. } => {
                tree.walk(*value).any(|at| match tree.kind(at) {
                    Kind::Binary { op: Op::Equal | Op::In, left, .. } => {
                        matches!(tree.kind(*left), Kind::Field { name, .. }
                            if matches!(name.to_ascii_lowercase().as_str(), "state" | "phase"))
                    }
                    _ => false,
                })
            }
            _ => false,
        })
    };
    tree.walk_here(test).any(|at| match tree.kind(at) {
        Kind::Name(name) => words::any(name, STATES) && !answer(name) || made_of_states(name),
        Kind::Field { name, .. } => words::any(name, STATES),
        Kind::Text(text) => !text.contains(' ') && words::any(text, STATES),
        _ => false,
    })
}

/// The question of a decision.
fn test_of(file: &File<'_, '_>, id: Id) -> Id {
    match file.tree.kind(id) {
        Kind::If { test, .. } => *test,
        Kind::Loop { form: LoopForm::While(test) | LoopForm::DoWhile(test), .. } => *test,
        Kind::Loop { form: LoopForm::Counted { test: Some(test), .. }, .. } => *test,
        _ => id,
    }
}

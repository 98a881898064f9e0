//! Re-queues without a count: where the failure is handled, the item is put back, or gets a state
//! from which it is taken again.

use foldhash::{HashSet, HashSetExt as _};

use super::back::{QUEUES, STATES, puts};
use super::counter::MOST;
use super::failed::{Failed, failures};
use super::{policy, workqueue};
use crate::language::Language;
use crate::loops::file::File;
use crate::loops::words;
use crate::loops::{Finding, Sites};
use crate::policy::{Attempts, DelayKind, Jitter};
use crate::tree::{Arg, Id, Kind, LoopForm};

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

/// Calls that change what is kept of an item.
const CHANGES: &[&str] =
    &["update", "mark", "set", "release", "change", "transition", "move", "reset", "patch"];
/// States in which something waits to be taken again. Shorter than what a counter may be beside:
/// `ready` and `new` are states of screens, too.
const AGAIN: &[&str] = &["pending", "queued", "retry", "retrying", "approved", "scheduled"];

/// What somebody asks for through a channel, and gets an answer to.
const ASKED: &[&str] = &["request", "op", "ops", "input"];

/// What is handed to everything.
const BESIDE: &[&str] = &[
    "ctx", "context", "self", "this", "cls", "err", "error", "log", "logger", "token", "ct", "tx",
    "db", "session", "conn", "timeout",
];

/// What is put back where it failed.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let tree = file.tree;
    let mut out: Vec<Finding> = Vec::new();
    for id in tree.ids() {
        if out.len() >= MOST {
            break;
        }
        for failed in failures(file, id) {
            // Who is told of the failure as well is the one who does something about it.
            let raises = matches!(tree.kind(failed.region), Kind::Block(all)
                if all.last().is_some_and(|last| matches!(tree.kind(*last), Kind::Throw(_))));
            let Some(back) = put_back(file, &failed).filter(|_| !raises) else { continue };
            // Of an error's branch and a case of it one is enough.
            if !out.iter().any(|known| known.sites.operation == back) {
                out.push(finding(file, &failed, back));
            }
        }
    }
    out
}

fn finding(file: &File<'_, '_>, failed: &Failed, back: Id) -> Finding {
    let tree = file.tree;
    let span = tree.span(failed.place);
    let counted = tree.ancestors(back).take_while(|up| *up != failed.place).any(|up| {
        file.within(up, failed.region)
            && matches!(tree.kind(up), Kind::If { .. } | Kind::Match { .. })
    });
    let attempts = if counted {
        let expression = "what the handler asks for".to_owned();
        Attempts::Dynamic { expression, low: Some(1), high: None, usual: None }
    } else {
        Attempts::Infinite
    };
    let waits = waits(file, failed.region);
    let delay = if waits.is_empty() { DelayKind::None } else { DelayKind::Dynamic };
    let lines = [span.line, span.end_line.max(tree.span(back).end_line)];
    let mut policy = policy(file, lines, attempts, (delay, Jitter::None), back);
    workqueue::describe(file, &mut policy, back);
    let failure = Some(failed.region);
    Finding { policy, sites: Sites { place: failed.place, operation: back, failure, waits } }
}

/// Where that is put back which the work was given.
fn put_back(file: &File<'_, '_>, failed: &Failed) -> Option<Id> {
    let tree = file.tree;
    let mut worked_on: Option<HashSet<&str>> = None;
    let start = tree.span(failed.place).start;
    // Also in what is handed to a transaction.
    tree.walk(failed.region).filter(|at| tree.span(*at).start >= start).find(|at| {
        let named = |id: Id, given: &HashSet<&str>| {
            tree.walk_here(id)
                .any(|at| matches!(tree.kind(at), Kind::Name(name) if given.contains(name)))
        };
        match tree.kind(*at) {
            Kind::Call { callee, args, .. } => {
                let puts = puts(file, *callee) && !words::any(tree.source(*callee), ENDS);
                if !puts && !changes_state(file, *callee, args) {
                    return false;
                }
                let given = worked_on.get_or_insert_with(|| given(file, failed));
                args.iter().any(|arg| {
                    if puts { is_item(file, arg.value, given) } else { named(arg.value, given) }
                })
            }
            // `jobs <- job`.
            Kind::Other(all) if file.language == Language::Go => match all[..] {
                [into, item] if tree.source(*at).contains("<-") => {
                    let queue = tree.last_name(into).is_some_and(|name| {
                        (words::any(name, QUEUES) || words::any(name, ASKED))
                            && !words::any(name, ENDS)
                    });
                    let given = worked_on.get_or_insert_with(|| given(file, failed));
                    (queue || taken_from(file, *at, into, item)) && is_item(file, item, given)
                }
                _ => false,
            },
            // `job.status = "pending"`.
            Kind::Assign { op: None, target, value } => {
                let Kind::Field { of, name } = tree.kind(*target) else { return false };
                let state = STATES.contains(&name.to_ascii_lowercase().as_str())
                    && words::any(tree.source(*value), AGAIN);
                let item = match tree.kind(*of) {
                    Kind::Name(name) => *name,
                    _ => return false,
                };
                state && worked_on.get_or_insert_with(|| given(file, failed)).contains(item)
            }
            _ => false,
        }
    })
}

/// Whether an item was taken out of this channel: `case job := <-jobs`.
fn taken_from(file: &File<'_, '_>, at: Id, into: Id, item: Id) -> bool {
    let Some(function) = file.tree.function_of(at) else { return false };
    let (into, item) = (file.tree.source(into), file.tree.source(item));
    let takes = [format!("{item} := <-{into}"), format!("for {item} := range {into}")];
    let text = file.tree.source(function);
    // Not from `jobs2`.
    takes.iter().any(|take| {
        text.match_indices(take.as_str()).any(|(at, _)| {
            !text[at + take.len()..].starts_with(|c: char| c.is_alphanumeric() || "_.".contains(c))
        })
    })
}

/// Whether an argument is what was worked on, or that beside a count of it.
fn is_item(file: &File<'_, '_>, id: Id, given: &HashSet<&str>) -> bool {
    match file.tree.kind(id) {
        Kind::Name(name) => given.contains(name),
        Kind::Unary { of, .. } => is_item(file, *of, given),
        Kind::List(all) | Kind::Other(all) => all.iter().any(|one| is_item(file, *one, given)),
        _ => false,
    }
}

/// Whether a call sets a state in which something waits: `update(id, { status: "pending" })`,
/// `mark(jobs, Status.PENDING)`.
fn changes_state(file: &File<'_, '_>, callee: Id, args: &[Arg<'_>]) -> bool {
    let tree = file.tree;
    let changes = tree.last_name(callee).is_some_and(|last| words::any(last, CHANGES));
    let is_state = |name: &str| words::any(name, STATES);
    changes
        && args.iter().any(|arg| {
            let named = arg.name.is_some_and(is_state) && words::any(tree.source(arg.value), AGAIN);
            named
                || tree.walk_here(arg.value).any(|at| match tree.kind(at) {
                    Kind::Field { of, name } => {
                        words::any(name, AGAIN) && tree.last_name(*of).is_some_and(is_state)
                    }
                    Kind::Record { entries, .. } => entries.iter().any(|entry| {
                        entry.key.as_deref().is_some_and(is_state)
                            && words::any(tree.source(entry.value), AGAIN)
                    }),
                    _ => false,
                })
        })
}

/// The names that the work is given, and those of its elements, but for what only looks at them or
/// hands something on.
fn given<'s>(file: &File<'_, 's>, failed: &Failed) -> HashSet<&'s str> {
    let tree = file.tree;
    let mut names = HashSet::new();
    // Who is given an error is given what it is about.
    if failed.work.is_empty()
        && let Some(function) = tree.function_of(failed.place)
        && let Kind::Function { params, .. } = tree.kind(function)
    {
        names.extend(params.iter().map(|param| param.name).filter(|name| !BESIDE.contains(name)));
    }
    for at in failed.work.iter().flat_map(|work| tree.walk_here(*work)) {
        let Kind::Call { callee, args, .. } = tree.kind(at) else { continue };
        let pure = words::is_pure(
            &tree.path(*callee).unwrap_or_default(),
            tree.last_name(*callee).unwrap_or_default(),
        );
        // What this file itself does with it may be work, whatever it is called.
        if !puts(file, *callee) && (!pure || file.callee(at).is_some()) {
            names.extend(args.iter().flat_map(|arg| tree.walk_here(arg.value)).filter_map(|at| {
                match tree.kind(at) {
                    Kind::Name(name) => (!BESIDE.contains(name)).then_some(*name),
                    _ => None,
                }
            }));
        }
    }
    // `for item in items: queue.put(item)`.
    for at in tree.walk_here(failed.region) {
        if let Kind::Loop { form: LoopForm::Each { var: Some(var), over }, .. } = tree.kind(at)
            && let (Kind::Name(one), Kind::Name(all)) = (tree.kind(*var), tree.kind(*over))
            && names.contains(all)
        {
            names.insert(one);
        }
    }
    names
}

/// The calls in a handler that wait.
pub(super) fn waits(file: &File<'_, '_>, body: Id) -> Vec<Id> {
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

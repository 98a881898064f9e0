//! How an item is put back: by its state, by a time at which it is due, or by a call that says so.

use crate::language::Language;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// Fields that say when something is due.
const DUE: &[&str] = &[
    "nextrun",
    "nextretry",
    "retryat",
    "scheduledat",
    "runat",
    "availableat",
    "nextattempt",
    "nextattemptat",
    "nextretryat",
    "startdate",
    "dueat",
    "notbefore",
    "eta",
    "scheduledfor",
    "nextrunat",
    "visibleat",
];
/// Fields that say in which state something is.
pub(super) const STATES: &[&str] = &["status", "state"];
/// States from which it is taken again.
const OPEN: &[&str] =
    &["pending", "queued", "new", "retry", "retrying", "approved", "waiting", "scheduled", "ready"];
/// Calls that put something back.
pub(super) const BACK: &[&str] =
    &["requeue", "enqueue", "reschedule", "resubmit", "resend", "republish"];
/// Calls that put something into what it is taken from, if their receiver is such a thing.
const PUTS: &[&str] = &[
    "push", "add", "put", "send", "publish", "offer", "unshift", "append", "submit", "schedule",
    "insert", "produce", "lpush", "rpush", "write",
];
/// What something is taken from to be done.
pub(super) const QUEUES: &[&str] = &[
    "queue",
    "queues",
    "q",
    "pending",
    "jobs",
    "tasks",
    "scheduler",
    "backlog",
    "topic",
    "producer",
    "requests",
    "work",
    "worklist",
    "outbox",
    "inbox",
    "channel",
    "broker",
    "bus",
    "retry",
    "retries",
    "publisher",
    "todo",
    "deque",
    "fifo",
];
/// What is put into such a thing.
const ITEMS: &[&str] = &["request", "task", "job", "message", "item", "work", "url", "event"];
/// How something is put back.
pub(super) struct Back {
    pub(super) at: Id,
    /// From when on it is due, or after how long it is taken.
    pub(super) due: Option<Id>,
    /// It is done again or given back there, and not left somewhere to be taken.
    pub(super) at_once: bool,
}

pub(super) fn put_back(file: &File<'_, '_>, within: Id) -> Option<Back> {
    let tree = file.tree;
    let (mut back, mut due) = (None, None);
    for at in tree.walk(within) {
        match tree.kind(at) {
            Kind::Assign { op: None, target, value } => {
                let Kind::Field { name, .. } = tree.kind(*target) else { continue };
                let plain: String =
                    name.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
                if DUE.contains(&plain.as_str()) {
                    due = Some(*value);
                } else if STATES.contains(&plain.as_str()) && words::any(tree.source(*value), OPEN)
                {
                    back = back.or(Some(at));
                }
            }
            Kind::Call { callee, .. } if puts(file, *callee) => back = back.or(Some(at)),
            // `jobs <- job`.
            Kind::Other(all) if file.language == Language::Go && all.len() == 2 => {
                let queue = tree.last_name(all[0]).is_some_and(|name| words::any(name, QUEUES));
                if queue && tree.source(at).contains("<-") {
                    back = back.or(Some(at));
                }
            }
            _ => {}
        }
    }
    let at = back.or(due)?;
    Some(Back { at, due, at_once: false })
}

/// Whether a call puts something back: by its name, or into what it belongs to.
pub(super) fn puts(file: &File<'_, '_>, callee: Id) -> bool {
    let Some(last) = file.tree.last_name(callee) else { return false };
    let into = match file.tree.kind(callee) {
        Kind::Field { of, .. } => file.tree.last_name(*of),
        _ => None,
    };
    words::any(last, BACK)
        || into.is_some_and(|into| words::any(last, PUTS) && words::any(into, QUEUES))
}

/// Whether a call puts something into a queue, or is a method of this object that does:
/// `add_request(…)`.
pub(super) fn takes_items(file: &File<'_, '_>, callee: Id) -> bool {
    let tree = file.tree;
    let own = match tree.kind(callee) {
        Kind::Name(_) => true,
        Kind::Field { of, .. } => matches!(tree.last_name(*of), Some("this" | "self")),
        _ => false,
    };
    puts(file, callee)
        || own
            && tree.last_name(callee).is_some_and(|last| {
                words::any(last, PUTS) && words::any(last, ITEMS) && !words::any(last, &["log"])
            })
}

//! Retries without a loop: the failed item keeps a count, and is put back to be taken again.
//!
//! Nothing runs in one piece here, so nothing can be interpreted: three things have to stand in
//! one function. A field counts attempts up, a condition holds it to a limit, and in what that
//! condition allows the item is put back, by its state, by a time at which it is due, or by a call
//! that says so. A counter alone is a statistic.

use super::file::File;
use super::words;
use super::{Finding, Sites};
use crate::policy::{
    Attempts, By, Call, Confidence, Delay, DelayKind, Jitter, Kind as PolicyKind, Policy, Scope,
    Setting,
};
use crate::tree::{Id, Kind, Op};

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
const STATES: &[&str] = &["status", "state"];
/// States from which it is taken again.
const OPEN: &[&str] =
    &["pending", "queued", "new", "retry", "retrying", "approved", "waiting", "scheduled", "ready"];
/// Calls that put something back.
const BACK: &[&str] = &["requeue", "enqueue", "reschedule", "resubmit", "resend", "republish"];
/// More counters than this in one file are not looked at.
const MOST: usize = 32;

/// A counter that is counted up.
struct Counter {
    at: Id,
    function: Id,
    name: String,
    /// As written: `job.retry_count`.
    path: String,
}

/// The re-queues of a file.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for counter in counters(file) {
        let Some(finding) = judge(file, &counter) else { continue };
        let same = |known: &Finding| known.policy.line == finding.policy.line;
        if !out.iter().any(same) {
            out.push(finding);
        }
    }
    out
}

fn counters(file: &File<'_, '_>) -> Vec<Counter> {
    let tree = file.tree;
    let mut out = Vec::new();
    for at in tree.ids() {
        if out.len() >= MOST {
            break;
        }
        let target = match tree.kind(at) {
            Kind::Step { of, by: 1, .. } => *of,
            Kind::Assign { op: Some(Op::Add), target, .. } => *target,
            Kind::Assign { op: None, target, value } => match tree.kind(*value) {
                Kind::Binary { op: Op::Add, left, .. }
                    if tree.last_name(*left) == tree.last_name(*target) =>
                {
                    *target
                }
                _ => continue,
            },
            _ => continue,
        };
        // Of the item itself, not of who works on it.
        let Kind::Field { of, name } = tree.kind(target) else { continue };
        let own = matches!(tree.last_name(*of), Some("this" | "self" | "cls") | None);
        if own || !words::about_retry(name) {
            continue;
        }
        let looped = tree
            .ancestors(at)
            .take_while(|up| !matches!(tree.kind(*up), Kind::Function { .. }))
            .any(|up| match tree.kind(up) {
                Kind::Loop { .. } => tree.source(up).contains("sleep"),
                _ => false,
            });
        if let Some(function) = tree.function_of(at).filter(|_| !looped) {
            out.push(Counter {
                at,
                function,
                name: (*name).to_owned(),
                path: file.squeezed(target),
            });
        }
    }
    out
}

fn judge(file: &File<'_, '_>, counter: &Counter) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Function { body, .. } = tree.kind(counter.function) else { return None };
    tree.walk_here(*body).find_map(|at| {
        let Kind::If { test, then, otherwise } = tree.kind(at) else { return None };
        let (limit, op) = limit(file, *test, &counter.path)?;
        let allowed_if = match (put_back(file, *then), otherwise.and_then(|it| put_back(file, it)))
        {
            (Some(back), _) => (true, back),
            (None, Some(back)) => (false, back),
            // `if count > 5 { return }`, and after it.
            (None, None) => {
                let all = match tree.parent(at).map(|up| tree.kind(up)) {
                    Some(Kind::Block(all)) if leaves(file, *then) => all,
                    _ => return None,
                };
                let rest = all.iter().skip_while(|id| **id != at).skip(1);
                (false, rest.filter_map(|id| put_back(file, *id)).next()?)
            }
        };
        let first = tree.span(counter.at).start < tree.span(*test).start;
        let limit_value = number(file, limit);
        let attempts = match limit_value {
            Some(value) => Attempts::Count(attempts(value, op, allowed_if.0, first)?),
            None => Attempts::Dynamic {
                expression: file.brief(limit, 60),
                low: Some(1),
                high: None,
                usual: None,
            },
        };
        Some(finding(file, counter, at, attempts, &allowed_if.1))
    })
}

/// What a counter is compared with, and how, with the counter on the left.
pub(super) fn limit(file: &File<'_, '_>, test: Id, path: &str) -> Option<(Id, Op)> {
    let tree = file.tree;
    tree.walk_here(test).find_map(|at| {
        let Kind::Binary { op, left, right } = tree.kind(at) else { return None };
        let mirrored = match op {
            Op::Less => Op::Greater,
            Op::AtMost => Op::AtLeast,
            Op::Greater => Op::Less,
            Op::AtLeast => Op::AtMost,
            _ => return None,
        };
        if file.squeezed(*left) == path {
            return Some((*right, *op));
        }
        (file.squeezed(*right) == path).then_some((*left, mirrored))
    })
}

pub(super) fn number(file: &File<'_, '_>, id: Id) -> Option<f64> {
    if let Kind::Number(value) = file.tree.kind(id) {
        return Some(*value);
    }
    file.values().and_then(|values| values.of(id).exact_number())
}

/// Attempts until the condition no longer allows another.
pub(super) fn attempts(limit: f64, op: Op, allowed_if: bool, counted_first: bool) -> Option<u32> {
    let mut count = 0.0;
    for attempt in 1..=1000 {
        if counted_first {
            count += 1.0;
        }
        let holds = match op {
            Op::Less => count < limit,
            Op::AtMost => count <= limit,
            Op::Greater => count > limit,
            _ => count >= limit,
        };
        if holds != allowed_if {
            return Some(attempt);
        }
        if !counted_first {
            count += 1.0;
        }
    }
    None
}

/// How something is put back.
struct Back {
    at: Id,
    /// From when on it is due, or after how long it is taken.
    due: Option<Id>,
}

fn put_back(file: &File<'_, '_>, within: Id) -> Option<Back> {
    let tree = file.tree;
    let (mut back, mut due) = (None, None);
    for at in tree.walk_here(within) {
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
            Kind::Call { callee, .. } if words::any(tree.last_name(*callee)?, BACK) => {
                back = back.or(Some(at));
            }
            _ => {}
        }
    }
    let at = back.or(due)?;
    Some(Back { at, due })
}

fn leaves(file: &File<'_, '_>, block: Id) -> bool {
    match file.tree.kind(block) {
        Kind::Return(_) | Kind::Throw(_) | Kind::Continue(_) => true,
        Kind::Block(all) => all.last().is_some_and(|last| leaves(file, *last)),
        _ => false,
    }
}

/// How a due time grows, by how it is written.
pub(super) fn growth(file: &File<'_, '_>, due: Option<Id>, counter: &str) -> DelayKind {
    let tree = file.tree;
    let Some(due) = due else { return DelayKind::Dynamic };
    let mut counted = false;
    for at in tree.walk(due) {
        match tree.kind(at) {
            Kind::Binary { op: Op::Power | Op::ShiftLeft, .. } => return DelayKind::Exponential,
            Kind::Call { callee, .. }
                if tree.last_name(*callee).is_some_and(|name| words::has(name, &["pow"])) =>
            {
                return DelayKind::Exponential;
            }
            Kind::Name(name) | Kind::Field { name, .. } if *name == counter => counted = true,
            Kind::Call { callee, .. }
                if tree.last_name(*callee).is_some_and(|name| words::any(name, words::WAITS)) =>
            {
                return DelayKind::Dynamic;
            }
            _ => {}
        }
    }
    if counted { DelayKind::Linear } else { DelayKind::Constant }
}

fn finding(
    file: &File<'_, '_>,
    counter: &Counter,
    test: Id,
    attempts: Attempts,
    back: &Back,
) -> Finding {
    let tree = file.tree;
    let (one, other) = (tree.span(counter.at), tree.span(test));
    let random = back.due.is_some_and(|due| words::has(tree.source(due), &["rand", "jitter"]));
    let jitter = if random { Jitter::Random } else { Jitter::None };
    let policy = Policy {
        implicit: false,
        line: one.line.min(other.line),
        end_line: one.end_line.max(other.end_line),
        language: file.language,
        by: By::HandRolled { shape: "put-back".to_owned() },
        kind: PolicyKind::Retry,
        attempts_total: Setting::derived(attempts),
        delay: Delay {
            kind: Setting::derived(growth(file, back.due, &counter.name)),
            base_ms: None,
            factor: None,
            cap_ms: None,
            jitter: Setting::derived(jitter),
            schedule_ms: Vec::new(),
        },
        deadline_ms: None,
        attempt_timeout_ms: None,
        retries_on: Setting::derived(Vec::new()),
        catches_all: false,
        budget: None,
        breaker: false,
        pushback: false,
        call: Some(Call { text: file.brief(back.at, 120), ..Call::default() }),
        scope: Scope::Production,
        confidence: Confidence::Medium,
        notes: vec!["what failed is put back, and taken again elsewhere".to_owned()],
        also: Vec::new(),
    };
    let sites = Sites { place: test, operation: back.at, failure: None, waits: Vec::new() };
    Finding { policy, sites }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_follow_from_where_the_counter_is_counted() {
        // Counted, then `> 5` gives up: the sixth failure is the last.
        assert_eq!(attempts(5.0, Op::Greater, false, true), Some(6));
        assert_eq!(attempts(5.0, Op::AtLeast, false, true), Some(5));
        // `< 10` allows another, and counts then.
        assert_eq!(attempts(10.0, Op::Less, true, false), Some(11));
    }
}

//! Retries without a loop: the failed item keeps a count, and is put back to be taken again.
//!
//! Nothing runs in one piece here, so nothing can be interpreted: three things have to stand in
//! one function. A field counts attempts up, a condition holds it to a limit, and in what that
//! condition allows the item is put back, by its state, by a time at which it is due, or by a call
//! that says so. A counter alone is a statistic.

mod asked;
mod back;
mod copied;
mod counter;
mod due;
mod failed;
mod handler;
mod kept;
mod later;
mod raised;
mod repeated;
mod restart;
mod workqueue;

use self::back::{Back, put_back, takes_items};
use self::counter::{Counter, counters};
use super::file::File;
use super::words;
use super::{Finding, Sites};
use crate::policy::{
    Attempts, By, Call, Confidence, Delay, DelayKind, Jitter, Kind as PolicyKind, Policy, Scope,
    Setting,
};
use crate::tree::{Id, Kind, Op};

/// Words of failures, one of which has to stand near a counter that is no field of the item.
const FAILED: &[&str] =
    &["err", "fail", "except", "catch", "timeout", "timed out", "nack", ".ok", "success"];
/// The re-queues of a file.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for counter in counters(file) {
        let found = judge(file, &counter)
            .or_else(|| copied::judge(file, &counter))
            .or_else(|| raised::judge(file, &counter));
        let Some(finding) = found else { continue };
        let same = |known: &Finding| known.policy.line == finding.policy.line;
        if !out.iter().any(same) {
            out.push(finding);
        }
    }
    out.extend(asked::find(file, &out));
    out.extend(handler::find(file));
    out.extend(restart::find(file));
    out.extend(kept::find(file));
    out.extend(repeated::find(file));
    out
}

fn judge(file: &File<'_, '_>, counter: &Counter) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Function { body, .. } = tree.kind(counter.function) else { return None };
    tree.walk_here(*body).find_map(|at| {
        let Kind::If { test, then, otherwise } = tree.kind(at) else { return None };
        let (limit, op) = limit(file, *test, &counter.path)?;
        if counter.handed {
            return handed_on(file, counter, (at, *test, *then, *otherwise), (limit, op));
        }
        let failed = words::has(tree.source(counter.function), FAILED);
        let back = |within: Id, failed: bool| {
            put_back(file, within)
                .or_else(|| later::done_again(file, within, &counter.kept, failed))
        };
        let after = |rest: &[Id]| {
            let told = restart::after_a_failure(file, at, counter.function);
            rest.iter().find_map(|id| back(*id, told))
        };
        let here = |within: Id| back(within, failed);
        let allowed_if = way_on(file, at, (*then, *otherwise), here, after)?;
        let first = tree.span(counter.at).start < tree.span(*test).start
            || matches!(tree.kind(counter.at), Kind::Step { before: true, .. });
        let attempts = counted(file, limit, op, (allowed_if.0, first))?;
        Some(finding(file, counter, at, attempts, &allowed_if.1))
    })
}

/// Where a question about a count leads on, and whether it does so if the answer is yes: in one of
/// its branches, or after it where it leaves: `if count > 5 { return }`.
fn way_on<T>(
    file: &File<'_, '_>,
    question: Id,
    (then, otherwise): (Id, Option<Id>),
    here: impl Fn(Id) -> Option<T>,
    after: impl Fn(&[Id]) -> Option<T>,
) -> Option<(bool, T)> {
    if let Some(found) = here(then) {
        return Some((true, found));
    }
    if let Some(found) = otherwise.and_then(here) {
        return Some((false, found));
    }
    let Kind::Block(all) = file.tree.kind(file.tree.parent(question)?) else { return None };
    let at = all.iter().position(|id| *id == question).filter(|_| leaves(file, then))?;
    after(&all[at + 1..]).map(|found| (false, found))
}

/// A count in a variable that is put back together with what was counted: `tries += 1`, and below
/// a limit `queue.put((task, tries))`.
fn handed_on(
    file: &File<'_, '_>,
    counter: &Counter,
    (at, test, then, otherwise): (Id, Id, Id, Option<Id>),
    (limit, op): (Id, Op),
) -> Option<Finding> {
    let tree = file.tree;
    let named = words::about_retry(&counter.name);
    let failed = words::has(tree.source(counter.function), FAILED);
    let says_so = file.function_name(counter.function).is_some_and(words::about_retry);
    if !(says_so || named && failed) {
        return None;
    }
    let back = |within: Id| {
        tree.walk_here(within).find(|call| match tree.kind(*call) {
            Kind::Call { callee, args, .. } => {
                takes_items(file, *callee)
                    && args.iter().any(|arg| {
                        tree.walk_here(arg.value).any(
                            |at| matches!(tree.kind(at), Kind::Name(name) if *name == counter.name),
                        )
                    })
            }
            _ => false,
        })
    };
    let (allowed_if, back) = match (back(then), otherwise.and_then(back)) {
        (Some(back), _) => (true, back),
        (None, back) => (false, back?),
    };
    let first = tree.span(counter.at).start < tree.span(test).start;
    let attempts = counted(file, limit, op, (allowed_if, first))?;
    Some(finding(file, counter, at, attempts, &Back { at: back, due: None, at_once: false }))
}

/// The attempts that a limit allows.
fn counted(
    file: &File<'_, '_>,
    limit: Id,
    op: Op,
    (allowed_if, first): (bool, bool),
) -> Option<Attempts> {
    match number(file, limit) {
        Some(value) => Some(Attempts::Count(attempts(value, op, allowed_if, first)?)),
        None => Some(Attempts::Dynamic {
            expression: file.brief(limit, 60),
            low: Some(1),
            high: None,
            usual: None,
        }),
    }
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
        // `job.tries++ < 3` counts where it is asked.
        let is_counter = |id: Id| match tree.kind(id) {
            Kind::Step { of, .. } => file.squeezed(*of) == path,
            _ => file.squeezed(id) == path,
        };
        if is_counter(*left) {
            return Some((*right, *op));
        }
        is_counter(*right).then_some((*left, mirrored))
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
                if due::unit(file, at).is_none()
                    && tree
                        .last_name(*callee)
                        .is_some_and(|name| words::any(name, words::WAITS)) =>
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
    let lines = [one.line.min(other.line), one.end_line.max(other.end_line)];
    let growth = match back.due {
        None if back.at_once => DelayKind::None,
        due => growth(file, due, &counter.name),
    };
    let mut policy = policy(file, lines, attempts, (growth, jitter), back.at);
    if growth == DelayKind::Constant {
        let base = back.due.and_then(|due| due::millis(file, due));
        policy.delay.base_ms = base.map(Setting::derived);
    }
    let sites = Sites { place: test, operation: back.at, failure: None, waits: Vec::new() };
    Finding { policy, sites }
}

/// What is put back, as a policy.
fn policy(
    file: &File<'_, '_>,
    [line, end_line]: [u32; 2],
    attempts: Attempts,
    (delay, jitter): (DelayKind, Jitter),
    back: Id,
) -> Policy {
    Policy {
        implicit: false,
        line,
        end_line,
        language: file.language,
        by: By::HandRolled { shape: "put-back".to_owned() },
        kind: PolicyKind::Retry,
        attempts_total: Setting::derived(attempts),
        delay: Delay {
            kind: Setting::derived(delay),
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
        call: Some(Call { text: file.brief(back, 120), ..Call::default() }),
        scope: Scope::Production,
        confidence: Confidence::Medium,
        notes: vec!["what failed is put back, and taken again elsewhere".to_owned()],
        also: Vec::new(),
        runs: None,
    }
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

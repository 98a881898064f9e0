//! What failed and is done again by somebody else: rows of a table whose attempts are counted in SQL, and
//! objects that a controller is asked to look at again.

use super::counter::MOST;
use super::failed::failures;
use super::policy;
use crate::language::Language;
use crate::loops::file::{File, Worth};
use crate::loops::words;
use crate::loops::{Finding, Sites};
use crate::policy::{Attempts, DelayKind, Jitter, Setting};
use crate::tree::{Id, Kind, Op};

/// Columns that say when something is due, as parts of their names.
const DUE: &[&str] = &[
    "next_",
    "run_at",
    "available_at",
    "retry_at",
    "scheduled_at",
    "not_before",
    "visible_at",
    "due_at",
    "run_after",
    "retry_after",
    "scheduled_for",
];
/// States from which a row is taken again.
const AGAIN: &[&str] =
    &["'pending'", "'queued'", "'retry'", "'retrying'", "'scheduled'", "'waiting'"];

/// What is kept to be done again.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let tree = file.tree;
    let mut out: Vec<Finding> = Vec::new();
    for id in tree.ids() {
        if out.len() >= MOST {
            break;
        }
        match tree.kind(id) {
            Kind::Text(text) => out.extend(counted_row(file, id, text)),
            Kind::If { .. } if file.language == Language::Go => {
                for failed in failures(file, id) {
                    out.extend(looked_at_again(file, failed.place, failed.region));
                }
            }
            _ => {}
        }
    }
    out
}

/// An `UPDATE` that counts an attempt of a row, and says when it is due or lets it be taken again; or
/// the count is held to a limit beside it.
fn counted_row(file: &File<'_, '_>, id: Id, text: &str) -> Option<Finding> {
    let tree = file.tree;
    let lower = text.to_ascii_lowercase();
    if !lower.contains("update ") || !counts_in_sql(&lower) {
        return None;
    }
    let again = words::has(&lower, DUE) || words::has(&lower, AGAIN);
    let function = tree.function_of(id);
    // `if attempt >= max { delete } else { keep }`.
    let limit = function.and_then(|function| {
        tree.walk(function).find_map(|at| {
            let Kind::If { test, .. } = tree.kind(at) else { return None };
            bound(file, *test)
        })
    });
    if !again && limit.is_none() {
        return None;
    }
    let count = limit.map_or(Attempts::Infinite, |bound| Attempts::Dynamic {
        expression: file.brief(bound, 60),
        low: Some(1),
        high: None,
        usual: None,
    });
    let delay = if words::has(&lower, DUE) { DelayKind::Dynamic } else { DelayKind::None };
    let span = tree.span(id);
    let policy = policy(file, [span.line, span.end_line], count, (delay, Jitter::None), id);
    Some(Finding {
        policy,
        sites: Sites { place: id, operation: id, failure: None, waits: Vec::new() },
    })
}

/// What a condition holds a count of attempts to: `job.attempts + 1 >= 5`.
fn bound(file: &File<'_, '_>, test: Id) -> Option<Id> {
    let tree = file.tree;
    let counts = |side: Id| {
        tree.walk_here(side).any(|at| match tree.kind(at) {
            Kind::Name(name) | Kind::Field { name, .. } => {
                words::about_retry(name) && !words::any(name, &["max", "limit"])
            }
            _ => false,
        })
    };
    tree.walk_here(test).find_map(|at| match tree.kind(at) {
        Kind::Binary { op: Op::Less | Op::AtMost | Op::Greater | Op::AtLeast, left, right } => {
            let sides = [(*left, *right), (*right, *left)];
            sides.into_iter().find(|(count, _)| counts(*count)).map(|(_, bound)| bound)
        }
        _ => None,
    })
}

/// Whether a statement of SQL counts attempts up: `attempts = attempts + 1`.
fn counts_in_sql(lower: &str) -> bool {
    lower.split([',', '\n']).any(|part| {
        let Some((target, value)) = part.split_once('=') else { return false };
        let target = target.split_whitespace().last().unwrap_or_default();
        let Some((same, more)) = value.split_once('+') else { return false };
        let same = same.trim().trim_start_matches("coalesce(").trim();
        let plain = |name: &str| {
            name.rsplit('.').next().unwrap_or(name).trim_matches(['"', '`']).to_owned()
        };
        more.trim_start().starts_with('1')
            && !plain(target).is_empty()
            && plain(target) == plain(same.split(',').next().unwrap_or(same))
            && words::about_retry(&plain(target))
    })
}

/// A controller's answer after an error that asks for another look: `Result{RequeueAfter: wait}`.
fn looked_at_again(file: &File<'_, '_>, place: Id, region: Id) -> Option<Finding> {
    let tree = file.tree;
    let (at, due) = tree.walk_here(region).find_map(|at| {
        let Kind::Record { ty: Some(ty), entries } = tree.kind(at) else { return None };
        if tree.last_name(*ty) != Some("Result") {
            return None;
        }
        let entry = entries.iter().find(|entry| match entry.key.as_deref() {
            Some("RequeueAfter") => !matches!(tree.kind(entry.value), Kind::Number(0.0)),
            Some("Requeue") => matches!(tree.kind(entry.value), Kind::Bool(true)),
            _ => false,
        })?;
        let due = (entry.key.as_deref() == Some("RequeueAfter")).then_some(entry.value);
        // What is not there yet is waited for.
        let absent = tree.ancestors(at).take_while(|up| *up != place).chain([place]).any(|up| {
            matches!(tree.kind(up), Kind::If { test, .. }
                if words::has(tree.source(*test), &["notfound", "not_found", "notready"]))
        });
        (!absent).then_some((at, due))
    })?;
    let delay = match due {
        Some(due) => super::growth(file, Some(due), ""),
        None => DelayKind::Dynamic,
    };
    let span = tree.span(place);
    let mut policy =
        policy(file, [span.line, span.end_line], Attempts::Infinite, (delay, Jitter::None), at);
    if let Some(Worth::Millis { ms, .. }) = due.map(|due| file.worth(due))
        && delay == DelayKind::Constant
    {
        policy.delay.base_ms = Some(Setting::derived(ms));
    }
    policy.notes = vec!["the controller looks at the object again".to_owned()];
    let sites = Sites { place, operation: at, failure: Some(region), waits: Vec::new() };
    Some(Finding { policy, sites })
}

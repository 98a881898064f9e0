//! The work queue of client-go, which waits by itself before it gives an item again, and counts how
//! often it did: `queue.AddRateLimited(key)`, `queue.NumRequeues(key) < 5`.

use super::{attempts, number};
use crate::language::Language;
use crate::loops::file::File;
use crate::policy::{Attempts, Delay, DelayKind, Policy, Setting};
use crate::tree::{Id, Kind, Op};
use crate::value::Unit;

/// What the limiter of controllers waits by default, in milliseconds: client-go,
/// util/workqueue/default_rate_limiters.go.
const FIRST: f64 = 5.0;
const MOST: f64 = 1_000_000.0;

/// Says of an item that is put back there how long after, and how often.
pub(super) fn describe(file: &File<'_, '_>, policy: &mut Policy, back: Id) {
    let tree = file.tree;
    let Kind::Call { callee, .. } = tree.kind(back) else { return };
    if file.language != Language::Go || tree.last_name(*callee) != Some("AddRateLimited") {
        return;
    }
    policy.delay.kind = Setting::derived(DelayKind::Exponential);
    policy.delay.factor = Some(Setting::default_of(2.0));
    limiter(file, &mut policy.delay);
    if let Some(function) = tree.function_of(back)
        && let Some(all) = tree.walk(function).find_map(|at| limit(file, at))
    {
        policy.attempts_total = Setting::derived(all);
    }
}

/// The waits of the limiter that this file makes, if it does.
fn limiter(file: &File<'_, '_>, delay: &mut Delay) {
    let tree = file.tree;
    for id in tree.ids() {
        let Kind::Call { callee, args, .. } = tree.kind(id) else { continue };
        let callee = match tree.kind(*callee) {
            // `NewTypedItemExponentialFailureRateLimiter[string](…)`.
            Kind::Index { of, .. } => *of,
            _ => *callee,
        };
        let name = tree.last_name(callee).unwrap_or_default();
        if name.ends_with("ItemExponentialFailureRateLimiter") {
            let millis = |at: usize| {
                let value = file.values()?.of(args.get(at)?.value);
                value.millis(Unit::Ns)
            };
            delay.base_ms = millis(0).map(Setting::derived);
            delay.cap_ms = millis(1).map(Setting::derived);
            return;
        }
        if name.starts_with("Default") && name.ends_with("ControllerRateLimiter") {
            delay.base_ms = Some(Setting::default_of(FIRST));
            delay.cap_ms = Some(Setting::default_of(MOST));
        }
    }
}

/// How often an item is tried where its count is held to a limit.
fn limit(file: &File<'_, '_>, at: Id) -> Option<Attempts> {
    let tree = file.tree;
    let Kind::Binary { op, left, right } = tree.kind(at) else { return None };
    let counts = |id: Id| match tree.kind(id) {
        Kind::Call { callee, .. } => tree.last_name(*callee) == Some("NumRequeues"),
        _ => false,
    };
    let op = match op {
        _ if !counts(*left) => return None,
        Op::Less | Op::AtMost | Op::Greater | Op::AtLeast => *op,
        _ => return None,
    };
    let allowed = matches!(op, Op::Less | Op::AtMost);
    Some(match number(file, *right) {
        Some(limit) => Attempts::Count(attempts(limit, op, allowed, false)?),
        None => Attempts::Dynamic {
            expression: file.brief(*right, 60),
            low: Some(1),
            high: None,
            usual: None,
        },
    })
}

//! The waits that follow from a policy's settings.

use super::catalogue::Param;
use super::closure;
use crate::policy::{Attempts, DelayKind, Jitter, Policy};
use crate::tree::{Id, Kind};
use crate::value::Values;

/// So many waits are shown.
const WAITS: usize = 16;
/// A deadline holds at most so many attempts; beyond, there is no bound worth naming.
const MOST: u32 = 100_000;

/// How the waits of a function of the attempt's number grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    pub(super) kind: DelayKind,
    /// The first wait.
    pub(super) first: f64,
    pub(super) factor: Option<f64>,
    pub(super) random: bool,
}

/// What a function of the attempt's number gives for the first three; `None`: that cannot be told.
pub(super) fn of_function(values: &Values<'_, '_>, function: Id, param: &Param) -> Option<Grown> {
    let Kind::Function { body, .. } = values.tree().kind(function) else { return None };
    let waits_for = if param.sleeps { slept(values, *body)? } else { *body };
    let start = param.first.unwrap_or(1.0);
    let mut waits = [(0.0, 0.0); 3];
    let mut random = false;
    for (at, wait) in waits.iter_mut().enumerate() {
        let number = start + at as f64;
        let value = closure::at(values, function, param, number, waits_for);
        random |= value.random;
        *wait = value.millis_between(param.unit)?;
    }
    // Between two ends the middle stands for what chance gives.
    let [a, b, c] = waits.map(|(low, high)| f64::midpoint(low, high));
    if ![a, b, c].iter().all(|wait| wait.is_finite() && *wait >= 0.0) {
        return None;
    }
    let near = |x: f64, y: f64| (x - y).abs() <= 1e-9 * x.abs().max(y.abs()).max(1.0);
    let (kind, factor) = if near(a, b) && near(b, c) {
        (if a == 0.0 { DelayKind::None } else { DelayKind::Constant }, None)
    } else if near(b - a, c - b) {
        (DelayKind::Linear, None)
    } else if a > 0.0 && near(b / a, c / b) {
        (DelayKind::Exponential, Some(b / a))
    } else {
        (DelayKind::Dynamic, None)
    };
    Some(Grown { kind, first: a, factor, random })
}

/// Whether a function waits by itself.
pub(super) fn sleeps(values: &Values<'_, '_>, function: Id) -> bool {
    slept(values, function).is_some()
}

/// What a function waits for by itself: `delay(n * 100)`.
fn slept(values: &Values<'_, '_>, body: Id) -> Option<Id> {
    let tree = values.tree();
    tree.walk(body).find_map(|at| match tree.kind(at) {
        Kind::Call { callee, args, .. } => {
            let sleeps = matches!(tree.last_name(*callee), Some("delay" | "sleep" | "Delay"));
            args.first().filter(|_| sleeps).map(|arg| arg.value)
        }
        _ => None,
    })
}

/// Fills in the waits, and how many attempts a deadline leaves where nothing else ends them.
pub(super) fn complete(policy: &mut Policy, immediate: bool, floor: f64) {
    let retries = match policy.attempts_total.value {
        Attempts::Count(total) => (total.saturating_sub(1) as usize).min(WAITS),
        Attempts::Infinite => WAITS,
        Attempts::Dynamic { usual, high, .. } => {
            usual.or(high).map_or(WAITS, |total| (total.saturating_sub(1) as usize).min(WAITS))
        }
    };
    policy.delay.schedule_ms =
        (0..retries).map_while(|at| wait(policy, at, immediate, floor)).collect();
    end_by_deadline(policy, immediate, floor);
    // The first wait is what is asked for by "base".
    if let Some(base) = &mut policy.delay.base_ms
        && base.value < floor
        && policy.delay.kind.value != DelayKind::None
    {
        base.value = floor;
    }
}

/// Attempts that only a deadline ends: how many fit before it depends on how long each takes.
pub(crate) fn end_by_deadline(policy: &mut Policy, immediate: bool, floor: f64) {
    if let Some(deadline) = policy.deadline_ms.as_ref().map(|deadline| deadline.value)
        && policy.attempts_total.value == Attempts::Infinite
    {
        policy.attempts_total.value = Attempts::Dynamic {
            expression: format!("until {deadline} ms have passed"),
            low: Some(1),
            high: most_within(policy, deadline, immediate, floor),
            usual: None,
        };
    }
}

/// The most attempts that a deadline lets begin, if every call fails at once. It is looked at when
/// an attempt has failed, so one more begins after it, if the last wait passes it. Chance may
/// shorten a wait: half of it is left where only the other half is drawn, and otherwise there is
/// no bound.
fn most_within(policy: &Policy, deadline: f64, immediate: bool, floor: f64) -> Option<u32> {
    let least = match policy.delay.jitter.value {
        Jitter::None => 1.0,
        Jitter::Equal => 0.5,
        _ => return None,
    };
    let (mut passed, mut attempts) = (0.0, 1_u32);
    while attempts < MOST {
        passed += least * wait(policy, attempts as usize - 1, immediate, floor)?;
        attempts += 1;
        if passed > deadline {
            return Some(attempts);
        }
    }
    None
}

/// The wait before a retry, counted from 0, without jitter.
fn wait(policy: &Policy, at: usize, immediate: bool, floor: f64) -> Option<f64> {
    let delay = &policy.delay;
    if immediate && at == 0 {
        return Some(0.0);
    }
    let base = delay.base_ms.as_ref().map(|base| base.value);
    let factor = delay.factor.as_ref().map_or(2.0, |factor| factor.value);
    let n = at as f64;
    let ms = match delay.kind.value {
        DelayKind::None => return Some(0.0),
        DelayKind::Constant => base?,
        DelayKind::Linear => base? * (n + 1.0),
        DelayKind::Exponential => base? * factor.powf(n),
        DelayKind::Polynomial => base? * (n + 1.0).powi(2),
        DelayKind::ServerDirected | DelayKind::Dynamic => return None,
    };
    let cap = delay.cap_ms.as_ref().map_or(f64::INFINITY, |cap| cap.value);
    let ms = ms.max(floor).min(cap);
    ms.is_finite().then_some(ms)
}

//! Retries that look like polling: the condition that `wait.Poll…` of Kubernetes asks again and again
//! swallows the error of what it calls, `if err != nil { return false, nil }`.

use super::file::File;
use super::words;
use super::{Finding, Sites};
use crate::language::Language;
use crate::policy::{
    Attempts, By, Call, Confidence, Delay, DelayKind, Jitter, Kind as PolicyKind, Policy, Scope,
    Setting,
};
use crate::tree::{Arg, Id, Kind, Op};
use crate::value::Unit;

/// Functions of `k8s.io/apimachinery/pkg/util/wait`, and where the interval and the time limit stand
/// among what they are given.
const POLLS: &[(&str, usize, Option<usize>)] = &[
    ("Poll", 0, Some(1)),
    ("PollImmediate", 0, Some(1)),
    ("PollInfinite", 0, None),
    ("PollImmediateInfinite", 0, None),
    ("PollUntil", 0, None),
    ("PollImmediateUntil", 0, None),
    ("PollWithContext", 1, Some(2)),
    ("PollImmediateWithContext", 1, Some(2)),
    ("PollUntilContextTimeout", 1, Some(2)),
    ("PollUntilContextCancel", 1, None),
];
const PACKAGE: &str = "k8s.io/apimachinery";

/// Those of a file.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let worth = file.language == Language::Go && file.tree.text().contains("wait.Poll");
    let ids = worth.then(|| file.tree.ids()).into_iter().flatten();
    ids.filter_map(|id| finding(file, id)).collect()
}

fn finding(file: &File<'_, '_>, id: Id) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    let Kind::Field { of, name } = tree.kind(*callee) else { return None };
    let (_, interval, limit) = POLLS.iter().find(|row| row.0 == *name)?;
    if tree.last_name(*of) != Some("wait") {
        return None;
    }
    let condition = args.iter().rev().map(|arg| arg.value).find(|arg| is_function(file, *arg))?;
    let (operation, failure) = swallowed(file, condition)?;
    let span = tree.span(id);
    let deadline = limit.and_then(|at| millis(file, args, at));
    let attempts = match limit {
        Some(at) if deadline.is_none() => Attempts::Dynamic {
            expression: format!(
                "until {} has passed",
                args.get(*at).map_or_else(String::new, |arg| file.brief(arg.value, 60),)
            ),
            low: Some(1),
            high: None,
            usual: None,
        },
        _ => Attempts::Infinite,
    };
    let policy = Policy {
        implicit: false,
        line: span.line,
        end_line: span.end_line,
        language: file.language,
        by: By::Library { id: "go-apimachinery-poll".to_owned(), package: PACKAGE.to_owned() },
        kind: PolicyKind::Retry,
        attempts_total: Setting::derived(attempts),
        delay: Delay {
            kind: Setting::derived(DelayKind::Constant),
            base_ms: millis(file, args, *interval).map(Setting::derived),
            factor: None,
            cap_ms: None,
            jitter: Setting::derived(Jitter::None),
            schedule_ms: Vec::new(),
        },
        deadline_ms: deadline.map(Setting::derived),
        attempt_timeout_ms: None,
        retries_on: Setting::derived(Vec::new()),
        catches_all: false,
        budget: None,
        breaker: false,
        pushback: false,
        call: Some(Call { text: file.brief(operation, 120), ..Call::default() }),
        scope: Scope::Production,
        confidence: Confidence::Medium,
        notes: vec!["its condition swallows the error, so that it is called again".to_owned()],
        also: Vec::new(),
        runs: None,
    };
    let sites = Sites { place: id, operation, failure: Some(failure), waits: Vec::new() };
    Some(Finding { policy, sites })
}

fn is_function(file: &File<'_, '_>, id: Id) -> bool {
    matches!(file.tree.kind(id), Kind::Function { .. })
}

fn millis(file: &File<'_, '_>, args: &[Arg<'_>], at: usize) -> Option<f64> {
    file.values()?.of(args.get(at)?.value).millis(Unit::Ns)
}

/// The call of which a condition swallows every error, or those that are worth another attempt, and
/// where it does.
fn swallowed(file: &File<'_, '_>, condition: Id) -> Option<(Id, Id)> {
    let tree = file.tree;
    tree.walk_here(condition).find_map(|at| {
        let Kind::If { test, then, .. } = tree.kind(at) else { return None };
        let error = error_of(file, *test)?;
        let gives = tree.walk_here(*then).any(|at| match tree.kind(at) {
            Kind::Return(Some(value)) => match tree.kind(*value) {
                Kind::List(all) => matches!(
                    all[..],
                    [no, none] if matches!(tree.kind(no), Kind::Bool(false))
                        && matches!(tree.kind(none), Kind::Null)
                ),
                _ => false,
            },
            _ => false,
        });
        let start = tree.span(*test).end;
        let made = file
            .assigned(error)
            .iter()
            .rfind(|place| file.within(**place, condition) && tree.span(**place).start < start)?;
        let value = match tree.kind(*made) {
            Kind::Let { value: Some(value), .. } | Kind::Assign { value, .. } => *value,
            _ => return None,
        };
        let call = tree.walk_here(value).find(|at| matches!(tree.kind(*at), Kind::Call { .. }))?;
        gives.then_some((call, *then))
    })
}

/// The error that a condition asks about, if it is any one or one that is worth another attempt.
fn error_of<'s>(file: &File<'_, 's>, test: Id) -> Option<&'s str> {
    let tree = file.tree;
    let name = |id: Id| tree.last_name(id).filter(|name| words::any(name, &["err", "error"]));
    match tree.kind(test) {
        Kind::Binary { op: Op::NotEqual, left, right }
            if matches!(tree.kind(*right), Kind::Null) =>
        {
            name(*left)
        }
        Kind::Binary { op: Op::And, left, right } => {
            error_of(file, *left).or_else(|| error_of(file, *right))
        }
        Kind::Call { callee, args, .. } => {
            let asks = tree.last_name(*callee).is_some_and(words::about_retry);
            args.iter().find_map(|arg| name(arg.value)).filter(|_| asks)
        }
        _ => None,
    }
}

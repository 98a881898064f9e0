//! Policies that a library asks for: a type of this file says after each failure whether there is
//! another attempt, and the loop is in the library: `impl tower::retry::Policy for …`.
//!
//! Which interfaces are asked so is a table. One that never says yes, or always, is found by what
//! its method does: attempts have to be counted, or chances to be used up.

use super::file::File;
use super::requeue::{attempts, growth, limit, number};
use super::words;
use super::{Finding, Sites};
use crate::language::Language;
use crate::policy::{
    Attempts, By, Call, Confidence, Delay, DelayKind, Jitter, Kind as PolicyKind, Policy, Scope,
    Setting,
};
use crate::tree::{Id, Kind, Op};

/// An interface, its method, and what has to stand in the file beside them.
struct Asked {
    base: &'static str,
    method: &'static str,
    /// A word of the file without which the names mean something else.
    beside: &'static str,
}

const fn asked(base: &'static str, method: &'static str, beside: &'static str) -> Asked {
    Asked { base, method, beside }
}

const RUST: &[Asked] = &[asked("Policy", "retry", "clone_request")];
const JVM: &[Asked] = &[
    asked("HttpRequestRetryHandler", "retryRequest", ""),
    asked("HttpRequestRetryStrategy", "retryRequest", ""),
    asked("ServiceUnavailableRetryStrategy", "retryRequest", ""),
    asked("HttpMethodRetryHandler", "retryMethod", ""),
    asked("Retryer", "continueOrPropagate", ""),
    asked("RetryPolicy", "retry", "VolleyError"),
];
const CSHARP: &[Asked] =
    &[asked("IRetryPolicy", "NextRetryDelay", ""), asked("IRetryPolicy", "ShouldRetry", "")];

/// The policies of a file.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let tree = file.tree;
    let table = match file.language {
        Language::Rust => RUST,
        Language::Java | Language::Kotlin => JVM,
        Language::CSharp => CSHARP,
        _ => return Vec::new(),
    };
    let named = |one: &&Asked| {
        let text = tree.text();
        text.contains(one.base) && text.contains(one.method) && text.contains(one.beside)
    };
    let asked: Vec<&Asked> = table.iter().filter(named).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    tree.ids().filter_map(|id| of_class(file, id, &asked)).collect()
}

fn of_class(file: &File<'_, '_>, id: Id, asked: &[&Asked]) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Class { bases, body, .. } = tree.kind(id) else { return None };
    let Kind::Block(all) = tree.kind(*body) else { return None };
    bases.iter().find_map(|base| {
        // `Policy<Req, Res, E>`, `retry.Policy`.
        let text = tree.source(*base).split(['<', '(']).next().unwrap_or_default().trim();
        let name = text.rsplit(['.', ':']).next().unwrap_or(text);
        let one = asked.iter().find(|one| one.base == name)?;
        all.iter().find_map(|method| match tree.kind(*method) {
            Kind::Function { name: Some(known), .. } if *known == one.method => {
                finding(file, *method)
            }
            _ => None,
        })
    })
}

/// Where attempts are counted: the limit, and how many there are.
fn counted(file: &File<'_, '_>, body: Id) -> Option<(Attempts, String)> {
    let tree = file.tree;
    tree.walk(body).find_map(|at| {
        let test = match tree.kind(at) {
            Kind::If { test, .. } => *test,
            Kind::Return(Some(value)) => *value,
            Kind::Match { arms, .. } => arms.iter().find_map(|arm| arm.guard)?,
            _ => return None,
        };
        let counter = tree.walk_here(test).find_map(|part| match tree.kind(part) {
            Kind::Binary { op, left, right } if is_order(*op) => {
                [*left, *right].into_iter().find(|side| counts(file, *side))
            }
            _ => None,
        })?;
        let path = match tree.kind(counter) {
            Kind::Step { of, .. } => file.squeezed(*of),
            _ => file.squeezed(counter),
        };
        let (limit, op) = limit(file, test, &path)?;
        let name = path.rsplit('.').next().unwrap_or(&path).to_owned();
        // What ends by giving up is held to the limit from above.
        let allowed = matches!(op, Op::Less | Op::AtMost);
        let first = stepped_before(file, body, &path, test);
        // The first time it is asked one attempt has been made.
        let count = number(file, limit).filter(|number| *number > 0.0).and_then(|number| {
            attempts(number, op, allowed, first || is_parameter(file, body, counter))
        });
        let attempts = count.map_or_else(
            || Attempts::Dynamic {
                expression: file.brief(limit, 60),
                low: Some(1),
                high: None,
                usual: None,
            },
            Attempts::Count,
        );
        Some((attempts, name))
    })
}

fn is_order(op: Op) -> bool {
    matches!(op, Op::Less | Op::AtMost | Op::Greater | Op::AtLeast)
}

/// Whether something counts attempts, by its name or, in a struct of one field, by its place.
fn counts(file: &File<'_, '_>, id: Id) -> bool {
    match file.tree.kind(id) {
        Kind::Step { of, .. } => counts(file, *of),
        Kind::Name(name) | Kind::Field { name, .. } => {
            words::about_retry(name)
                || words::any(name, words::COUNTERS)
                || words::any(name, &["execution", "current"])
                || name.chars().all(|c| c.is_ascii_digit())
        }
        _ => false,
    }
}

/// Whether a counter is counted before it is asked about.
fn stepped_before(file: &File<'_, '_>, body: Id, path: &str, test: Id) -> bool {
    let tree = file.tree;
    let start = tree.span(test).start;
    tree.walk(body).any(|at| match tree.kind(at) {
        Kind::Step { of, before, .. } => {
            let place = tree.span(at).start;
            file.squeezed(*of) == path && (place < start || *before && file.within(at, test))
        }
        Kind::Assign { op: Some(_), target, .. } => {
            file.squeezed(*target) == path && tree.span(at).start < start
        }
        _ => false,
    })
}

/// Whether a counter is handed in: it begins at 1.
fn is_parameter(file: &File<'_, '_>, body: Id, counter: Id) -> bool {
    let tree = file.tree;
    let Some(function) = tree.function_of(body) else { return false };
    matches!((tree.kind(function), tree.kind(counter)),
        (Kind::Function { params, .. }, Kind::Name(name)) if params.iter().any(|p| p.name == *name))
}

fn finding(file: &File<'_, '_>, method: Id) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Function { body, .. } = tree.kind(method) else { return None };
    let (attempts, counter) = counted(file, *body)?;
    let span = tree.span(method);
    // What it gives when it says yes is how long to wait.
    let waits: Vec<Id> = tree
        .walk(*body)
        .filter(|at| match tree.kind(*at) {
            Kind::Call { callee, .. } => {
                let last = tree.last_name(*callee).unwrap_or_default();
                let path = tree.path(*callee).unwrap_or_else(|| vec!["", last]);
                words::sleep(file.language, &path, last).is_some()
                    || matches!(path[..], ["TimeSpan", _] | ["Duration", _])
            }
            _ => false,
        })
        .collect();
    let delay = match waits.first() {
        None => DelayKind::None,
        Some(wait) => match tree.kind(*wait) {
            Kind::Call { args, .. } => growth(file, args.first().map(|arg| arg.value), &counter),
            _ => DelayKind::Dynamic,
        },
    };
    let random = waits.iter().any(|wait| words::has(tree.source(*wait), &["rand", "jitter"]));
    let jitter = if random { Jitter::Random } else { Jitter::None };
    let policy = Policy {
        implicit: false,
        line: span.line,
        end_line: span.end_line,
        language: file.language,
        by: By::HandRolled { shape: "policy-of-a-client".to_owned() },
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
        pushback: words::has(tree.source(method), &["retry-after", "retry_after", "retryafter"]),
        call: Some(Call::default()),
        scope: Scope::Production,
        confidence: Confidence::Medium,
        notes: vec!["the client asks it after each failure".to_owned()],
        also: Vec::new(),
        runs: None,
    };
    let sites = Sites { place: method, operation: method, failure: Some(*body), waits };
    Some(Finding { policy, sites })
}

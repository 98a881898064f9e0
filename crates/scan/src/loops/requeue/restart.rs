//! Attempts that are counted in one function and begun again from it: a timer that is set below a
//! limit where something failed, the same function with a count that is one more, or a method that
//! counts a retry and starts all over.
//!
//! No run of the interpreter gets there, as the failure comes by way of somebody else: a socket, a
//! timer, a handler that is only set. A counter held to a limit says nothing by itself, since
//! polling has one, too: what surrounds it has to be about a failure.

use std::borrow::Cow;

use super::{attempts, growth, limit, number, policy};
use crate::loops::file::File;
use crate::loops::words;
use crate::loops::{Finding, Sites};
use crate::policy::{Attempts, DelayKind, Jitter, Setting};
use crate::tree::{Arg, Id, Kind, Op};

/// More of them in one file are not looked at.
const MOST: usize = 32;
/// And no more places than this, for each of which all of the file is gone through.
const MOST_LOOKED_AT: usize = 256;
/// Words of functions that are called because something failed.
const FAILED: &[&str] = &[
    "fail",
    "failed",
    "failure",
    "fails",
    "error",
    "errors",
    "err",
    "onerror",
    "timeout",
    "ontimeout",
    "timedout",
    "exception",
    "uncaught",
    "reject",
    "rejected",
    "catch",
];
/// Names of what failed, as parameters.
const ERRORS: &[&str] = &["err", "error", "e", "ex", "exception", "throwable", "cause", "reason"];
/// Words of counters of attempts, beside those that speak of retries.
const COUNTS: &[&str] = &["failures", "fails", "failed", "errors", "tries"];

/// What is begun again, and how long after.
struct Again {
    at: Id,
    due: Option<Id>,
}

/// The restarts of a file.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let tree = file.tree;
    let mut out: Vec<Finding> = Vec::new();
    let mut looked_at = 0;
    for id in tree.ids() {
        if out.len() >= MOST || looked_at >= MOST_LOOKED_AT {
            break;
        }
        let found = match tree.kind(id) {
            Kind::If { test, then, otherwise } if counter_in(file, *test).is_some() => {
                counted(file, id, *test, *then, *otherwise)
            }
            Kind::Function { name: Some(name), .. } if words::about_retry(name) => {
                starts_over(file, id)
            }
            _ => continue,
        };
        looked_at += 1;
        out.extend(found);
    }
    out
}

/// A condition that holds a count of attempts to a limit, and what is begun again below it.
fn counted(
    file: &File<'_, '_>,
    at: Id,
    test: Id,
    then: Id,
    otherwise: Option<Id>,
) -> Option<Finding> {
    let tree = file.tree;
    let counter = counter_in(file, test)?;
    let path = file.squeezed(counter);
    let (bound, op) = limit(file, test, &path)?;
    let function = tree.function_of(at)?;
    if !after_a_failure(file, at, function) {
        return None;
    }
    let again = |within: Id| begun_again(file, within, &path, function);
    let (allowed, again) = match (again(then), otherwise.and_then(again)) {
        (Some(it), _) => (true, it),
        (None, Some(it)) => (false, it),
        // `if count > 5 { return }`, and after it.
        (None, None) => {
            let all = match tree.parent(at).map(|up| tree.kind(up)) {
                Some(Kind::Block(all)) if super::leaves(file, then) => all,
                _ => return None,
            };
            let rest = all.iter().skip_while(|id| **id != at).skip(1);
            (false, rest.filter_map(|id| again(*id)).next()?)
        }
    };
    let steps = steps(file, &path);
    let handed = hands_on(file, again.at, &path);
    if steps.is_empty() && !handed {
        return None;
    }
    let start = tree.span(test).start;
    let inside = |step: &Id| tree.function_of(*step) == Some(function);
    // What is counted elsewhere is counted with each attempt.
    let first = !handed
        && steps.iter().any(|step| {
            let early = tree.span(*step).start < start;
            early || !inside(step) || matches!(tree.kind(*step), Kind::Step { before: true, .. })
        });
    // What is counted down begins at a number that others say.
    let down = matches!(op, Op::Greater | Op::AtLeast) == allowed;
    let count = match number(file, bound).filter(|_| !down) {
        Some(value) => {
            let begun = if handed { default_of(file, function, counter) } else { 0.0 };
            Attempts::Count(attempts(value - begun, op, allowed, first)?)
        }
        None => Attempts::Dynamic {
            expression: file.brief(if down { counter } else { bound }, 60),
            low: Some(1),
            high: None,
            usual: None,
        },
    };
    let name = tree.last_name(counter).unwrap_or_default();
    let delay = match again.due {
        Some(due) => growth(file, Some(made_of(file, function, due)), name),
        None if waits_before(file, again.at) => DelayKind::Dynamic,
        None => DelayKind::None,
    };
    let random = again.due.is_some_and(|due| words::has(tree.source(due), &["rand", "jitter"]));
    let jitter = if random { Jitter::Random } else { Jitter::None };
    let (one, other) = (tree.span(at), tree.span(again.at));
    let lines = [one.line.min(other.line), one.end_line.max(other.end_line)];
    let mut policy = policy(file, lines, count, (delay, jitter), again.at);
    policy.notes =
        vec!["the attempts are counted, and another is begun below the limit".to_owned()];
    if delay == DelayKind::Constant
        && let Some(ms) = again.due.and_then(|due| number(file, due))
        && ms > 0.0
        && in_milliseconds(file)
    {
        policy.delay.base_ms = Some(Setting::derived(ms));
    }
    let sites = Sites { place: at, operation: again.at, failure: None, waits: Vec::new() };
    Some(Finding { policy, sites })
}

/// What a wait is made of where it has been worked out before: `this.wait = base * 2 ** n`.
fn made_of(file: &File<'_, '_>, function: Id, due: Id) -> Id {
    let tree = file.tree;
    let (Kind::Name(name) | Kind::Field { name, .. }) = tree.kind(due) else { return due };
    let mut values = file.assigned(name).iter().filter_map(|at| match tree.kind(*at) {
        Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
            (tree.function_of(*at) == Some(function)).then_some(*value)
        }
        _ => None,
    });
    match (values.next(), values.next()) {
        (Some(only), None) => only,
        _ => due,
    }
}

/// Whether something waits in the block of a call before it.
fn waits_before(file: &File<'_, '_>, at: Id) -> bool {
    let tree = file.tree;
    let block = tree.ancestors(at).find(|up| matches!(tree.kind(*up), Kind::Block(_)));
    let start = tree.span(at).start;
    let waits = block.map(|block| super::handler::waits(file, block)).unwrap_or_default();
    waits.iter().any(|wait| tree.span(*wait).start < start)
}

/// What a counter that is handed in begins with where nobody says so.
fn default_of(file: &File<'_, '_>, function: Id, counter: Id) -> f64 {
    let tree = file.tree;
    let Kind::Name(name) = tree.kind(counter) else { return 0.0 };
    let default = tree.ancestors(function).chain([function]).find_map(|up| match tree.kind(up) {
        Kind::Function { params, .. } => params.iter().find(|param| param.name == *name)?.default,
        _ => None,
    });
    match default.map(|default| tree.kind(default)) {
        Some(Kind::Number(value)) => *value,
        _ => 0.0,
    }
}

/// Whether timers of a language are set in milliseconds.
fn in_milliseconds(file: &File<'_, '_>) -> bool {
    use crate::language::Language;
    matches!(file.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
}

/// The counter of attempts that a condition compares.
fn counter_in(file: &File<'_, '_>, test: Id) -> Option<Id> {
    let tree = file.tree;
    tree.walk_here(test).find_map(|at| match tree.kind(at) {
        Kind::Binary { op: Op::Less | Op::AtMost | Op::Greater | Op::AtLeast, left, right } => {
            [*left, *right]
                .into_iter()
                .map(|side| match tree.kind(side) {
                    Kind::Step { of, .. } => *of,
                    _ => side,
                })
                .find(|side| counts(file, *side))
        }
        _ => None,
    })
}

/// Whether something counts attempts, and is no limit of them.
fn counts(file: &File<'_, '_>, id: Id) -> bool {
    let name = match file.tree.kind(id) {
        Kind::Name(name) | Kind::Field { name, .. } => name,
        _ => return false,
    };
    let limits = words::any(name, &["max", "limit", "maximum", "allowed", "total"]);
    !limits && (words::about_retry(name) || words::any(name, COUNTS))
}

/// Where a counter is counted, up or down.
fn steps(file: &File<'_, '_>, path: &str) -> Vec<Id> {
    let tree = file.tree;
    let name = path.rsplit(['.', '>']).next().unwrap_or(path);
    let steps = tree.ids().filter(|at| match tree.kind(*at) {
        Kind::Step { of, .. } => tree.last_name(*of) == Some(name) && file.squeezed(*of) == path,
        Kind::Assign { op: Some(Op::Add | Op::Subtract), target, .. } => {
            tree.last_name(*target) == Some(name) && file.squeezed(*target) == path
        }
        _ => false,
    });
    steps.take(8).collect()
}

/// Whether a place is only come to because something failed: it stands in a handler, or in a function
/// that is named for failures, is given one, or is set or handed over for them.
pub(super) fn after_a_failure(file: &File<'_, '_>, at: Id, function: Id) -> bool {
    let tree = file.tree;
    let fails = |name: &str| words::any(name, FAILED);
    let mut inner = at;
    for up in tree.ancestors(at) {
        match tree.kind(up) {
            Kind::Try { handlers, .. } if handlers.iter().any(|it| it.body == inner) => {
                return true;
            }
            Kind::Function { .. } if up == function => break,
            _ => {}
        }
        inner = up;
    }
    let Kind::Function { params, .. } = tree.kind(function) else { return false };
    let named = name_of(file, function).is_some_and(|name| fails(name) || words::about_retry(name));
    let given = params.iter().any(|param| ERRORS.contains(&param.name));
    named || given || handed_for(file, function, &fails)
}

/// What a function is called: by its declaration, by what it is given to, or by its key.
fn name_of<'s>(file: &File<'_, 's>, function: Id) -> Option<&'s str> {
    let tree = file.tree;
    if let Some(name) = file.function_name(function) {
        return Some(name);
    }
    let mut up = tree.parent(function)?;
    // `f = bind(async function () { … })`.
    if matches!(tree.kind(up), Kind::Call { .. }) {
        up = tree.parent(up)?;
    }
    match tree.kind(up) {
        Kind::Let { target, .. } | Kind::Assign { target, .. } => tree.last_name(*target),
        Kind::Record { entries, .. } => {
            let entry = entries.iter().find(|entry| file.within(function, entry.value))?;
            match entry.key {
                Some(Cow::Borrowed(key)) => Some(key),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a function is handed to something that calls it for failures, or to a timer that says how
/// long an answer may take.
fn handed_for(file: &File<'_, '_>, function: Id, fails: &dyn Fn(&str) -> bool) -> bool {
    let tree = file.tree;
    let Some(Kind::Call { callee, args, .. }) = tree.parent(function).map(|up| tree.kind(up))
    else {
        return false;
    };
    let last = tree.last_name(*callee).unwrap_or_default();
    let event = |arg: &Arg<'_>| match tree.kind(arg.value) {
        Kind::Text(text) => fails(text),
        _ => false,
    };
    // `setTimeout(() => …, this.timeout)`: no answer came.
    let times_out = words::schedules(last)
        && args
            .iter()
            .any(|arg| arg.value != function && words::has(tree.source(arg.value), &["timeout"]));
    fails(last) && !words::schedules(last) || args.first().is_some_and(event) || times_out
}

/// What is begun again in a branch: a timer with a function, the function around it, or another of
/// this file that counts.
fn begun_again(file: &File<'_, '_>, within: Id, path: &str, function: Id) -> Option<Again> {
    let tree = file.tree;
    tree.walk_here(within).find_map(|at| {
        let Kind::Call { callee, args, .. } = tree.kind(at) else { return None };
        let last = tree.last_name(*callee)?;
        if words::schedules(last) {
            let runs = args.iter().map(|arg| arg.value).find(|arg| is_work(file, *arg))?;
            let due = args.iter().map(|arg| arg.value).find(|arg| *arg != runs);
            return Some(Again { at, due });
        }
        let around = around(file, function).any(|name| name == last);
        let counted = || steps(file, path).iter().any(|it| tree.function_of(*it) == Some(function));
        let one_more = around && (hands_on(file, at, path) || counted());
        let counts_itself = args.is_empty()
            && file
                .callee(at)
                .or_else(|| only(file.functions(last)))
                .is_some_and(|it| counts_within(file, it, path) && reaches_out(file, it));
        (one_more || counts_itself).then_some(Again { at, due: None })
    })
}

/// The names of the functions and classes around a place.
fn around<'f, 's: 'f>(file: &'f File<'_, 's>, at: Id) -> impl Iterator<Item = &'s str> + 'f {
    let own = name_of(file, at);
    own.into_iter().chain(file.tree.ancestors(at).filter_map(|up| match file.tree.kind(up) {
        Kind::Function { .. } => name_of(file, up),
        Kind::Class { name, .. } => *name,
        _ => None,
    }))
}

fn only(all: &[Id]) -> Option<Id> {
    match all {
        [only] => Some(*only),
        _ => None,
    }
}

/// Whether what is given to a timer does something, and does not only give up.
fn is_work(file: &File<'_, '_>, id: Id) -> bool {
    let tree = file.tree;
    match tree.kind(id) {
        Kind::Function { body, .. } => {
            let gives_up =
                words::has(tree.source(*body), &["reject(", "abort", "cancel", "destroy"]);
            !gives_up && tree.walk(*body).any(|at| matches!(tree.kind(at), Kind::Call { .. }))
        }
        // `onRetry`, `this.fn`, `this::send`; a number is a name in capitals, or a wait.
        Kind::Name(name) | Kind::Field { name, .. } => {
            !words::any(name, words::WAITS)
                && !words::any(name, &["resolve", "done", "seconds", "milliseconds"])
                && name.chars().any(char::is_lowercase)
        }
        _ => false,
    }
}

/// Whether a call, or a function that it is given, hands on a count that is one more or one less.
fn hands_on(file: &File<'_, '_>, call: Id, path: &str) -> bool {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(call) else { return false };
    args.iter().any(|arg| {
        tree.walk(arg.value).any(|at| match tree.kind(at) {
            Kind::Binary { op: Op::Add | Op::Subtract, left, right } => {
                file.squeezed(*left) == path && matches!(tree.kind(*right), Kind::Number(1.0))
            }
            Kind::Step { of, .. } => file.squeezed(*of) == path,
            _ => false,
        })
    })
}

fn counts_within(file: &File<'_, '_>, function: Id, path: &str) -> bool {
    steps(file, path).iter().any(|step| file.within(*step, function))
}

/// Whether something in a function leaves the process.
fn reaches_out(file: &File<'_, '_>, function: Id) -> bool {
    let tree = file.tree;
    tree.walk(function).any(|at| match tree.kind(at) {
        Kind::Call { callee, .. } => {
            let last = tree.last_name(*callee).unwrap_or_default();
            let path = tree.path(*callee).unwrap_or_else(|| vec![last]);
            words::leaves_the_process(&path) && !words::is_pure(&path, last)
        }
        _ => false,
    })
}

/// A method that is named for retries, counts one and starts another of its object over, while a
/// limit of the count is asked about elsewhere: `retry() { this.tries++; return this.await(); }`.
fn starts_over(file: &File<'_, '_>, function: Id) -> Option<Finding> {
    let tree = file.tree;
    let name = file.function_name(function).filter(|name| words::about_retry(name))?;
    let class = tree.class_of(function)?;
    let Kind::Function { body, .. } = tree.kind(function) else { return None };
    let Kind::Block(all) = tree.kind(*body) else { return None };
    let mut counter = None;
    for one in all {
        counter = match tree.kind(*one) {
            Kind::Step { of, .. } if counts(file, *of) => Some(*of),
            Kind::Assign { op: Some(Op::Add), target, .. } if counts(file, *target) => {
                Some(*target)
            }
            _ => counter,
        };
    }
    let counter = counter?;
    let last = match tree.kind(*all.last()?) {
        Kind::Return(Some(value)) => *value,
        _ => *all.last()?,
    };
    let last = match tree.kind(last) {
        Kind::Await(of) => *of,
        _ => last,
    };
    let started = file.callee(last).filter(|it| *it != function)?;
    if tree.class_of(started) != Some(class) {
        return None;
    }
    // The limit, and that it is called where that is asked about.
    let counter_name = tree.last_name(counter)?;
    let bound = tree.ids().find_map(|at| {
        let test = match tree.kind(at) {
            Kind::If { test, .. } => *test,
            Kind::Return(Some(value)) => *value,
            _ => return None,
        };
        let compared = counter_in(file, test)?;
        (tree.last_name(compared) == Some(counter_name) && at != function)
            .then(|| limit(file, test, &file.squeezed(compared)))?
    });
    let called = file.calls(name).iter().any(|call| !file.within(*call, function));
    let (bound, _) = bound.filter(|_| called)?;
    let expression = file.brief(bound, 60);
    let count = Attempts::Dynamic { expression, low: Some(1), high: None, usual: None };
    let waits = super::handler::waits(file, started);
    let delay = match growth(file, Some(started), counter_name) {
        _ if waits.is_empty() => DelayKind::None,
        DelayKind::Exponential => DelayKind::Exponential,
        _ => DelayKind::Dynamic,
    };
    let random = words::has(tree.source(started), &["rand", "jitter"]) && !waits.is_empty();
    let jitter = if random { Jitter::Random } else { Jitter::None };
    let span = tree.span(function);
    let mut policy = policy(file, [span.line, span.end_line], count, (delay, jitter), last);
    policy.notes = vec!["it counts a retry and starts over".to_owned()];
    let sites = Sites { place: function, operation: last, failure: None, waits };
    Some(Finding { policy, sites })
}

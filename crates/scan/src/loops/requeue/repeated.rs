//! Tasks that a timer runs again and again, and that end themselves once the work went well:
//! `timer = setInterval(() => { try { connect(); clearInterval(timer); } catch (e) { log(e); } })`.
//!
//! Most of what runs like that only looks whether something has come about. What tells a retry
//! apart: the handler of a failure leaves the timer alone, and what is done says that it is done
//! again or connects something.

use super::{number, policy};
use crate::loops::file::File;
use crate::loops::words;
use crate::loops::{Finding, Sites};
use crate::policy::{Attempts, By, DelayKind, Jitter, Setting};
use crate::tree::{Arg, Id, Kind};

/// What runs a function again and again.
const REPEATS: &[&str] = &["setInterval", "scheduleAtFixedRate", "scheduleWithFixedDelay"];
/// What ends such a timer.
const ENDS: &[&str] = &["clearInterval", "cancel", "shutdown", "shutdownNow", "dispose"];
/// Words of work that either comes about or is tried again.
const CONNECTS: &[&str] = &["connect", "reconnect", "dial", "login", "register", "open", "join"];
/// More of them in one file are not looked at.
const MOST: usize = 16;

/// The tasks of a file that are run until they went well.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let calls = REPEATS.iter().flat_map(|name| file.calls(name));
    calls.take(MOST).filter_map(|call| task(file, *call)).collect()
}

fn task(file: &File<'_, '_>, timer: Id) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(timer) else { return None };
    let given = args.first()?.value;
    let task = match tree.kind(given) {
        Kind::Function { .. } => given,
        _ => match file.functions(tree.last_name(given)?) {
            [only] => *only,
            _ => return None,
        },
    };
    let Kind::Function { body, .. } = tree.kind(task) else { return None };
    let (work, failure) = tree.walk(*body).find_map(|at| match tree.kind(at) {
        Kind::Try { body, handlers, .. } => {
            let failure = handlers.first()?.body;
            // Who gives up at once, or raises, does not try again.
            let gives_up = handlers.iter().any(|handler| {
                ends_in(file, handler.body).next().is_some()
                    || tree.walk(handler.body).any(|at| matches!(tree.kind(at), Kind::Throw(_)))
            });
            let work = (!gives_up).then(|| work_of(file, *body)).flatten()?;
            Some((work, failure))
        }
        _ => None,
    })?;
    let Kind::Call { callee, .. } = tree.kind(work) else { return None };
    let last = tree.last_name(*callee).unwrap_or_default();
    let around = tree.function_of(timer).and_then(|function| file.function_name(function));
    let connects = words::any(last, CONNECTS) || words::any(around.unwrap_or_default(), CONNECTS);
    if !connects && !words::speaks_of_again(tree.source(task)) {
        return None;
    }
    let span = tree.span(timer);
    let growth = (DelayKind::Constant, Jitter::None);
    let lines = [span.line, span.end_line];
    let mut policy = policy(file, lines, Attempts::Infinite, growth, work);
    policy.by = By::HandRolled { shape: "repeated-task".to_owned() };
    policy.notes = vec!["a timer runs it until it went well".to_owned()];
    policy.delay.base_ms = every(file, args).map(Setting::derived);
    let waits = vec![timer];
    Some(Finding {
        policy,
        sites: Sites { place: timer, operation: work, failure: Some(failure), waits },
    })
}

/// The calls in a place that end a timer.
fn ends_in<'a>(file: &'a File<'_, '_>, place: Id) -> impl Iterator<Item = Id> + 'a {
    let tree = file.tree;
    tree.walk(place).filter(move |at| match tree.kind(*at) {
        Kind::Call { callee, .. } => {
            tree.last_name(*callee).is_some_and(|last| ENDS.contains(&last))
        }
        _ => false,
    })
}

/// The call after which the timer is ended: nothing but itself says whether it is.
fn work_of(file: &File<'_, '_>, body: Id) -> Option<Id> {
    let tree = file.tree;
    let end = ends_in(file, body).next()?;
    let works = |at: &Id| match tree.kind(*at) {
        Kind::Call { callee, .. } => {
            let last = tree.last_name(*callee).unwrap_or_default();
            let path = tree.path(*callee).unwrap_or_else(|| vec!["", last]);
            words::leaves_the_process(&path)
                && !words::is_pure(&path, last)
                && !words::is_question(last)
                && !words::is_probe(last)
        }
        _ => false,
    };
    let mut inner = end;
    for up in tree.ancestors(end).take_while(|up| *up != body) {
        match tree.kind(up) {
            // `if (connect()) { … cancel … }`, and not `if (answer.done)`, which only looks.
            Kind::If { test, .. } if *test != inner => {
                return tree.walk_here(*test).find(works);
            }
            Kind::Match { .. } | Kind::Loop { .. } | Kind::Try { .. } => return None,
            _ => {}
        }
        inner = up;
    }
    let start = tree.span(end).start;
    let looks = tree.walk_here(body).any(|at| matches!(tree.kind(at), Kind::If { .. }));
    tree.walk(body).find(works).filter(|work| !looks && tree.span(*work).start < start)
}

/// How long the timer waits, where a number and a unit say so.
fn every(file: &File<'_, '_>, args: &[Arg<'_>]) -> Option<f64> {
    let tree = file.tree;
    let scale = match tree.last_name(args.last()?.value) {
        Some("SECONDS") => 1000.0,
        Some("MINUTES") => 60_000.0,
        Some("HOURS") => 3_600_000.0,
        _ => 1.0,
    };
    // The function, the first wait, the wait between, the unit.
    let period = if args.len() > 2 { args.get(2)? } else { args.get(1)? };
    let value = number(file, period.value).or_else(|| match tree.kind(period.value) {
        Kind::Name(name) => match file.assigned(name) {
            [only] => match tree.kind(*only) {
                Kind::Let { value: Some(value), .. } => number(file, *value),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    value.map(|value| value * scale)
}

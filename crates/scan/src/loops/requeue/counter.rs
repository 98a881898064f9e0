//! What counts the attempts of an item: a field of it, or a variable that is handed on with it.

use super::FAILED;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, Op};

/// More counters than this in one file are not looked at.
pub(super) const MOST: usize = 32;

/// Words of what people try, and not the program: `InvalidLoginAttemptCount`.
const OF_PEOPLE: &[&str] = &[
    "login",
    "logins",
    "signin",
    "password",
    "passcode",
    "pin",
    "otp",
    "captcha",
    "invalid",
    "wrong",
    "guess",
    "guesses",
    "challenge",
];

/// A counter that is counted up.
pub(super) struct Counter {
    pub(super) at: Id,
    pub(super) function: Id,
    pub(super) name: String,
    /// As written: `job.retry_count`.
    pub(super) path: String,
    /// The same where it is kept, if what is asked about is a copy of it.
    pub(super) kept: String,
    /// It is a variable, which says nothing unless it is handed on with the item.
    pub(super) handed: bool,
}

pub(super) fn counters(file: &File<'_, '_>) -> Vec<Counter> {
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
                    if tree.last_name(or_nothing(file, *left)) == tree.last_name(*target) =>
                {
                    *target
                }
                _ => {
                    out.extend(counted_on(file, at));
                    continue;
                }
            },
            _ => {
                out.extend(counted_on(file, at));
                continue;
            }
        };
        // Of the item itself, not of who works on it; or a variable that is handed on with it.
        let name = match tree.kind(target) {
            Kind::Field { name, .. } if of_an_item(file, target) => name,
            Kind::Name(name) => name,
            _ => continue,
        };
        if words::any(name, OF_PEOPLE) {
            continue;
        }
        let handed = matches!(tree.kind(target), Kind::Name(_));
        let looped = tree
            .ancestors(at)
            .take_while(|up| !matches!(tree.kind(*up), Kind::Function { .. }))
            .any(|up| match tree.kind(up) {
                Kind::Loop { .. } => tree.source(up).contains("sleep"),
                _ => false,
            });
        let says_so = |function: &Id| {
            words::about_retry(name)
                || file.function_name(*function).is_some_and(words::about_retry)
        };
        let function = tree.function_of(at).filter(|function| !handed || says_so(function));
        if let Some(function) = function.filter(|_| !looped) {
            out.push(Counter {
                at,
                function,
                name: (*name).to_owned(),
                path: file.squeezed(target),
                kept: file.squeezed(target),
                handed,
            });
        }
    }
    out
}

/// What is counted on in `job.tries || 0`.
fn or_nothing(file: &File<'_, '_>, id: Id) -> Id {
    match file.tree.kind(id) {
        Kind::Binary { op: Op::Or | Op::Else, left, right }
            if matches!(file.tree.kind(*right), Kind::Number(_)) =>
        {
            *left
        }
        _ => id,
    }
}

/// Whether a field counts attempts of an item, and not of who works on it.
fn of_an_item(file: &File<'_, '_>, id: Id) -> bool {
    match file.tree.kind(id) {
        Kind::Field { of, name } => {
            let of = file.tree.last_name(*of);
            of.is_some_and(|of| !matches!(of, "this" | "self" | "cls")) && words::about_retry(name)
        }
        _ => false,
    }
}

/// A count that goes on without changing the item: `tries = meta.get("tries", 0) + 1`, kept in a
/// variable, or `{ ...job, tries: job.tries + 1 }`, handed on with it.
fn counted_on(file: &File<'_, '_>, at: Id) -> Option<Counter> {
    let tree = file.tree;
    let one_more = |id: Id| match tree.kind(id) {
        Kind::Binary { op: Op::Add, left, right } => {
            matches!(tree.kind(*right), Kind::Number(1.0)).then_some(*left)
        }
        _ => None,
    };
    let (name, path, kept) = match tree.kind(at) {
        Kind::Assign { op: None, target, value } if of_an_item(file, *target) => {
            let Kind::Name(name) = tree.kind(one_more(*value)?) else { return None };
            let read = words::about_retry(name) && is_read(file, at, name);
            read.then(|| ((*name).to_owned(), (*name).to_owned(), file.squeezed(*target)))?
        }
        Kind::Let { target, value: Some(value), .. } | Kind::Assign { op: None, target, value } => {
            let Kind::Name(name) = tree.kind(*target) else { return None };
            let old = one_more(*value)?;
            // Of an item, and no counter of a loop.
            let read = matches!(
                tree.kind(old),
                Kind::Field { .. } | Kind::Index { .. } | Kind::Call { .. } | Kind::Binary { .. }
            );
            let own = matches!(tree.kind(old), Kind::Field { .. }) && !of_an_item(file, old);
            if !read || own || !words::about_retry(name) && !words::about_retry(tree.source(old)) {
                return None;
            }
            ((*name).to_owned(), (*name).to_owned(), (*name).to_owned())
        }
        Kind::Binary { .. } => {
            let old = one_more(at).filter(|old| of_an_item(file, *old))?;
            let kept = tree
                .parent(at)
                .is_some_and(|up| matches!(tree.kind(up), Kind::Let { .. } | Kind::Assign { .. }));
            if kept {
                return None;
            }
            (tree.last_name(old)?.to_owned(), file.squeezed(old), file.squeezed(old))
        }
        _ => return None,
    };
    let function = tree.function_of(at)?;
    words::has(tree.source(function), FAILED).then_some(Counter {
        at,
        function,
        name,
        path,
        kept,
        handed: false,
    })
}

/// Whether a name is given what an item says before a place, and nothing else there:
/// `tries = getattr(item, "tries", 0)`.
fn is_read(file: &File<'_, '_>, at: Id, name: &str) -> bool {
    let tree = file.tree;
    let function = tree.function_of(at);
    let mut here = file.assigned(name).iter().filter(|place| tree.function_of(**place) == function);
    let (Some(only), None) = (here.next(), here.next()) else { return false };
    match tree.kind(*only) {
        Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
            matches!(
                tree.kind(or_nothing(file, *value)),
                Kind::Field { .. } | Kind::Index { .. } | Kind::Call { .. }
            )
        }
        _ => false,
    }
}

/// Whether a name is that of a number of tries: `retryCount`, `attempts`.
pub(super) fn counts_tries(name: &str) -> bool {
    words::about_retry(name)
        && !words::any(name, OF_PEOPLE)
        && words::any(
            name,
            &["count", "counter", "attempts", "retries", "tries", "attempt", "number"],
        )
        && !words::any(name, &["max", "maximum", "limit", "delay", "policy"])
}

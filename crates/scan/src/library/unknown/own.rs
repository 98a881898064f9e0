//! Calls of a helper that another place of the repository declares, with numbers of their own: what
//! is retried, and how often, is said here and not where the loop is.

use std::collections::BTreeSet;

use super::{number, says, unknown_policy};
use crate::library::{Context, call};
use crate::policy::{Attempts, By, Policy};
use crate::tree::{Arg, Id, Kind, Tree};
use crate::value::Data;

/// What a function says that tells how long to wait.
const WAITS: &[&str] = &["backoff", "delay", "duration", "interval", "sleep", "wait"];
/// Where a test waits until something holds.
const TESTS: &[&str] = &["test", "tests", "testing", "testutil", "testutils"];

/// A call of a helper, and what it is given to do.
struct Used<'t, 's> {
    call: Id,
    name: &'s str,
    args: &'t [Arg<'s>],
    work: usize,
}

/// The names of such helpers: another file may declare them.
pub(super) fn names(tree: &Tree<'_>, context: &Context<'_, '_, '_>) -> Vec<String> {
    let used = tree.ids().filter_map(|id| used(tree, context, id));
    used.map(|used| used.name.to_owned()).collect()
}

/// The calls of those that are declared, as policies.
pub(super) fn find(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    declared: &BTreeSet<String>,
) -> Vec<Policy> {
    let used = tree.ids().filter_map(|id| used(tree, context, id));
    used.filter(|used| declared.contains(used.name))
        .map(|used| policy(tree, context, &used))
        .collect()
}

fn used<'t, 's>(tree: &'t Tree<'s>, context: &Context<'_, '_, 's>, id: Id) -> Option<Used<'t, 's>> {
    let Kind::Call { callee, args, new: false } = tree.kind(id) else { return None };
    let name = tree.last_name(*callee).filter(|name| says(name))?;
    let of_tests = |part: &&str| TESTS.iter().any(|word| part.eq_ignore_ascii_case(word));
    if args.len() < 2
        || tree.is_parameter(*callee)
        || tree.path(*callee).is_some_and(|path| path.iter().any(of_tests))
    {
        return None;
    }
    let work = args.iter().position(|arg| is_work(tree, context, arg.value))?;
    let mut others = args.iter().enumerate().filter(|(at, _)| *at != work);
    let numbers = others.any(|(_, arg)| is_own_number(tree, context, arg.value));
    numbers.then_some(Used { call: id, name, args, work })
}

/// Whether an argument is something to do: a closure, here or under a name of this file.
fn is_work(tree: &Tree<'_>, context: &Context<'_, '_, '_>, id: Id) -> bool {
    let made = context.values.definition(id).unwrap_or(id);
    match tree.kind(made) {
        Kind::Function { params, .. } => params.len() <= 2 && !tree.is_parameter(id),
        _ => false,
    }
}

/// Whether an argument says how often or how long: a number, a duration, an object of such, or a
/// function that says how long to wait. What is only handed on says nothing.
fn is_own_number(tree: &Tree<'_>, context: &Context<'_, '_, '_>, id: Id) -> bool {
    if tree.is_parameter(id) {
        return false;
    }
    let made = context.values.definition(id).unwrap_or(id);
    match tree.kind(made) {
        // Of two functions the second may as well do something.
        Kind::Function { .. } => {
            let text = tree.source(made).to_ascii_lowercase();
            WAITS.iter().any(|word| text.contains(word))
        }
        Kind::Record { entries, .. } => !entries.is_empty(),
        Kind::Unary { of, .. } => is_own_number(tree, context, *of),
        _ => {
            let value = context.values.of(id);
            value.number().is_some_and(|number| number >= 1.0)
                || matches!(value.data, Data::Duration(_))
        }
    }
}

fn policy(tree: &Tree<'_>, context: &Context<'_, '_, '_>, used: &Used<'_, '_>) -> Policy {
    let Used { call: id, name, args, work } = *used;
    let given = number(tree, args);
    let attempts = Attempts::Dynamic {
        expression: match given {
            Some(given) => format!("{given}, with or without the first, by {name}"),
            None => format!("decided by {name}"),
        },
        low: Some(given.unwrap_or(1)),
        high: given.map(|given| given + 1),
        usual: given,
    };
    let span = tree.span(id);
    let mut policy = unknown_policy(context, String::new(), attempts);
    policy.by = By::HandRolled { shape: "helper".to_owned() };
    policy.line = span.line;
    policy.end_line = span.end_line;
    policy.call = call::wrapped(tree, args[work].value, false);
    policy.notes = vec![format!("{name} of this repository retries what it is given")];
    policy
}

//! Clients that retry by themselves: variables that hold a policy.

use std::collections::BTreeMap;

use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};

/// A policy may be put into an adapter and this into a client: so many steps.
const STEPS: usize = 3;

/// A client in the list of functions. No function has such a name.
pub(super) fn name(owner: &str) -> String {
    format!("{owner} (client)")
}

/// Whether it is a client's.
pub(super) fn is_name(name: &str) -> bool {
    name.ends_with(" (client)")
}

/// The variable that something is called on: `s3` of `s3.get`, `client` of `self.client.get`.
pub(super) fn owner<'s>(path: &[&'s str]) -> Option<&'s str> {
    match path {
        ["self" | "this", owner, _, ..] => Some(owner),
        ["self" | "this", _] => None,
        [owner, _, ..] => Some(owner),
        _ => None,
    }
}

/// Variables with the policies that they hold, by their place in the list. A variable that is set
/// twice holds nobody knows what.
pub(super) fn all(tree: &Tree<'_>, policies: &[Policy]) -> Vec<(String, Vec<usize>)> {
    let mut holds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut set: BTreeMap<String, u32> = BTreeMap::new();
    for step in 0..STEPS {
        for id in tree.ids() {
            let (variable, value, sets) = match tree.kind(id) {
                Kind::Let { target, value: Some(value), .. } => {
                    (variable(tree, *target), *value, true)
                }
                Kind::Assign { op: None, target, value } => (variable(tree, *target), *value, true),
                Kind::Call { .. } => (given_to(tree, id), id, false),
                _ => continue,
            };
            let Some(variable) = variable else { continue };
            if sets && step == 0 {
                *set.entry(variable.clone()).or_default() += 1;
            }
            let found = held(tree, value, policies, &holds, &variable);
            if !found.is_empty() {
                let known = holds.entry(variable).or_default();
                known.extend(found);
                known.sort_unstable();
                known.dedup();
            }
        }
    }
    holds.into_iter().filter(|(variable, _)| set.get(variable).is_none_or(|n| *n == 1)).collect()
}

fn variable(tree: &Tree<'_>, target: Id) -> Option<String> {
    // A pair `client, err :=` is one variable and an error.
    let target = match tree.kind(target) {
        Kind::List(all) => *all.first()?,
        _ => target,
    };
    match tree.kind(target) {
        Kind::Name(_) | Kind::Field { .. } => tree.last_name(target).map(str::to_owned),
        _ => None,
    }
}

/// Whom a call gives a policy to: `session.mount(…)`, `axiosRetry(client, …)`.
fn given_to(tree: &Tree<'_>, id: Id) -> Option<String> {
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    if tree.last_name(*callee) == Some("mount") {
        let Kind::Field { of, .. } = tree.kind(*callee) else { return None };
        return variable(tree, *of);
    }
    let first = args.first().filter(|_| matches!(tree.kind(*callee), Kind::Name("axiosRetry")))?;
    variable(tree, first.value)
}

/// The policies in a value: written in it, or in a variable that is handed over in it. What a
/// function gives that is called with a policy is not looked into.
fn held(
    tree: &Tree<'_>,
    value: Id,
    policies: &[Policy],
    holds: &BTreeMap<String, Vec<usize>>,
    variable: &str,
) -> Vec<usize> {
    let mut found = Vec::new();
    if !matches!(tree.kind(value), Kind::Call { .. } | Kind::Record { .. } | Kind::Await(_)) {
        return found;
    }
    let span = tree.span(value);
    // A closure is code that runs later, not a client; one among the options is an option.
    let is_option = |id: Id| {
        tree.ancestors(id)
            .take_while(|up| *up != value)
            .any(|up| matches!(tree.kind(up), Kind::Record { .. }))
    };
    if tree.walk(value).any(|id| matches!(tree.kind(id), Kind::Function { .. }) && !is_option(id)) {
        return found;
    }
    found.extend((0..policies.len()).filter(|at| {
        let policy = &policies[*at];
        span.line <= policy.line && policy.end_line <= span.end_line
    }));
    for id in tree.walk_here(value) {
        let Kind::Call { args, .. } = tree.kind(id) else { continue };
        for arg in args {
            if let Kind::Name(name) = tree.kind(arg.value)
                && *name != variable
                && let Some(held) = holds.get(*name)
            {
                found.extend(held);
            }
        }
    }
    found
}

//! Strategies that stand inside what a library is given.

use foldhash::{HashSet, HashSetExt as _};

use super::catalogue::{Entry, Settings};
use super::given::Given;
use super::names;
use crate::tree::{Id, Kind};
use crate::value::Values;

/// So many nodes are looked at for parts, and names are followed so deep.
const NODES: usize = 400;
const FOLLOWED: usize = 6;

/// Words in the name of a function that makes a strategy.
const MAKERS: &[&str] = &[
    "backoff", "back_off", "retry", "retries", "policy", "strategy", "delay", "wait", "schedule",
    "opts", "options",
];

/// Parts that stand anywhere in what is given, names followed: `stop_after_attempt(3)`.
pub(super) fn nested<'e>(
    entry: &'e Entry,
    given: &Given,
    values: &Values<'_, '_>,
) -> Vec<(&'e Settings, Given, u32)> {
    let tree = values.tree();
    let mut all = Vec::new();
    let plain: Vec<_> = entry
        .parts
        .iter()
        .filter(|(name, _)| !name.ends_with('=') && !name.starts_with('.'))
        .collect();
    if plain.is_empty() {
        return all;
    }
    let mut queue: Vec<(Id, usize)> = given.nodes().map(|id| (id, 0)).collect();
    queue.reverse();
    let mut seen = HashSet::new();
    while let Some((id, depth)) = queue.pop() {
        if seen.len() >= NODES || !seen.insert(id) {
            continue;
        }
        if matches!(tree.kind(id), Kind::Function { .. } | Kind::Class { .. }) {
            continue;
        }
        let part = names::callee_of(tree, id).and_then(|name| {
            // An alias is followed to the name it has in its module.
            let path = values
                .imports()
                .qualify(tree, name)
                .map(|found| found.path)
                .filter(|path| !path.is_empty())
                .or_else(|| tree.path(name));
            let last =
                path.as_ref().map_or_else(|| tree.last_name(name), |path| path.last().copied())?;
            plain.iter().find(|(part, _)| match part.rsplit_once('.') {
                Some((owner, item)) => {
                    item == last
                        && path
                            .as_ref()
                            .is_some_and(|path| path.len() > 1 && path[path.len() - 2] == owner)
                }
                None => part.as_str() == last,
            })
        });
        if let Some((_, settings)) = part {
            all.push((*settings, Given::of(values, id, &[]), tree.span(id).line));
            // What it is called on may be a part too, but not its own name again.
            if let Kind::Call { callee, args, .. } = tree.kind(id) {
                if let Kind::Field { of, .. } = tree.kind(*callee) {
                    queue.push((*of, depth));
                }
                queue.extend(args.iter().rev().map(|arg| (arg.value, depth)));
            }
            continue;
        }
        if depth < FOLLOWED
            && let Some(definition) = values.definition(id)
        {
            queue.push((definition, depth + 1));
            continue;
        }
        if depth < FOLLOWED
            && let Some(body) = made_by(values, id)
        {
            queue.push((body, depth + 1));
        }
        let first = queue.len();
        tree.children(id, &mut |child| queue.push((child, depth)));
        queue[first..].reverse();
    }
    all
}

/// The body of the function of this file that makes a strategy, or is one: `policy()`, `myBackoff`.
fn made_by(values: &Values<'_, '_>, id: Id) -> Option<Id> {
    let tree = values.tree();
    let name = match tree.kind(id) {
        Kind::Call { callee, .. } => tree.last_name(*callee)?,
        Kind::Name(name) => name,
        _ => return None,
    };
    let lower = name.to_ascii_lowercase();
    if !MAKERS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    match tree.kind(values.function(name)?) {
        Kind::Function { body, .. } => Some(*body),
        _ => None,
    }
}

//! Policies whose settings are given by a decorator of the function that they stand in.

use super::Match;
use crate::policy::{From, Policy};
use crate::tree::{Id, Kind, Tree};

/// The decorators of the nearest function around a place that has any.
pub(super) fn decorators<'t>(tree: &'t Tree<'_>, id: Id) -> &'t [Id] {
    let mut lists = tree.ancestors(id).filter_map(|up| match tree.kind(up) {
        Kind::Function { decorators, .. } if !decorators.is_empty() => Some(decorators.as_slice()),
        _ => None,
    });
    lists.next().unwrap_or_default()
}

/// Of several places in one decorated function only the one that says least for itself: the others
/// make exceptions from it.
pub(super) fn joined<'m, 'e>(
    tree: &Tree<'_>,
    all: Vec<(&'m Match<'e>, Policy)>,
) -> Vec<(&'m Match<'e>, Policy)> {
    let mut out: Vec<(&'m Match<'e>, Policy)> = Vec::with_capacity(all.len());
    for (found, policy) in all {
        let home = tree.function_of(found.id).filter(|_| found.shape.decorated);
        let same = out.iter_mut().find(|(other, _)| {
            home.is_some() && other.entry.id == found.entry.id && tree.function_of(other.id) == home
        });
        let Some((other, known)) = same else {
            out.push((found, policy));
            continue;
        };
        let exception = waits_by_itself(known) && !waits_by_itself(&policy);
        let hidden = if exception {
            *other = found;
            std::mem::replace(known, policy)
        } else {
            policy
        };
        known.also.push([hidden.line, hidden.end_line]);
    }
    out
}

/// Whether the wait is written at the place itself.
fn waits_by_itself(policy: &Policy) -> bool {
    let from = policy.delay.base_ms.as_ref().map(|base| &base.from);
    matches!(from, Some(From::Written(line)) if (policy.line..=policy.end_line).contains(line))
}

//! Objects of options that their keys alone give away: `{ attempts: 3, backoff: { … } }`, which a
//! method returns, a wrapper is given, or another file hands to the library.

use foldhash::HashSet;

use super::catalogue::Entry;
use super::given::Given;
use super::{Context, Form, Match, names};
use crate::tree::{Entry as Pair, Id, Kind, Tree};

/// The objects that have all keys of a shape. What a call of a library is given is told by that
/// call, whether it stands there or is named there.
pub(super) fn matches<'e>(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    active: &[&'e Entry],
    calls: &[Match<'e>],
) -> Vec<Match<'e>> {
    let wanted: Vec<_> = active
        .iter()
        .flat_map(|entry| entry.shapes.iter().map(move |shape| (*entry, shape)))
        .filter(|(entry, shape)| {
            !shape.keys.is_empty() && (shape.free || names::imported(entry, context.values))
        })
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    // Calls may stand in each other: each is walked once.
    let told: HashSet<Id> = calls.iter().map(|call| call.id).collect();
    let outer = calls.iter().filter(|call| !tree.ancestors(call.id).any(|up| told.contains(&up)));
    let names: HashSet<&str> =
        outer.flat_map(|call| tree.walk(call.id)).filter_map(|at| tree.last_name(at)).collect();
    let mut all: Vec<Match<'e>> = Vec::new();
    for id in tree.ids() {
        let Kind::Record { ty: None, entries } = tree.kind(id) else { continue };
        let fits = wanted.iter().find(|(_, shape)| shape.keys.iter().all(|key| has(entries, key)));
        let Some((entry, shape)) = fits else { continue };
        let named = name_of(tree, id).is_some_and(|name| names.contains(name));
        if !named && !tree.ancestors(id).any(|up| told.contains(&up)) {
            let given = Given::of_assignment(context.values, id);
            all.push(Match { entry, shape, form: Form::Keys, id, given });
        }
    }
    all
}

fn has(entries: &[Pair<'_>], key: &str) -> bool {
    entries.iter().any(|entry| entry.key.as_deref() == Some(key))
}

/// The name that an object is given where it stands.
fn name_of<'s>(tree: &Tree<'s>, object: Id) -> Option<&'s str> {
    match tree.kind(tree.parent(object)?) {
        Kind::Let { target, .. } | Kind::Assign { target, .. } => tree.last_name(*target),
        _ => None,
    }
}

//! Objects of options that their keys alone give away: `{ attempts: 3, backoff: { … } }`, which a
//! method returns, a wrapper is given, or another file hands to the library.

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
    let mut all: Vec<Match<'e>> = Vec::new();
    for id in tree.ids() {
        let Kind::Record { ty: None, entries } = tree.kind(id) else { continue };
        let fits = wanted.iter().find(|(_, shape)| shape.keys.iter().all(|key| has(entries, key)));
        let Some((entry, shape)) = fits else { continue };
        let told = calls
            .iter()
            .any(|call| tree.ancestors(id).any(|up| up == call.id) || is_named(tree, id, call.id));
        if !told {
            let given = Given::of_assignment(context.values, id);
            all.push(Match { entry, shape, form: Form::Keys, id, given });
        }
    }
    all
}

fn has(entries: &[Pair<'_>], key: &str) -> bool {
    entries.iter().any(|entry| entry.key.as_deref() == Some(key))
}

/// Whether an object has a name that stands in a call.
fn is_named(tree: &Tree<'_>, object: Id, call: Id) -> bool {
    let name = tree.parent(object).and_then(|up| match tree.kind(up) {
        Kind::Let { target, .. } | Kind::Assign { target, .. } => tree.last_name(*target),
        _ => None,
    });
    name.is_some_and(|name| tree.walk(call).any(|at| tree.last_name(at) == Some(name)))
}

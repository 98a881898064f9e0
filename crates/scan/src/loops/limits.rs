//! Limits of time that are written around an operation: of one attempt inside of the loop, of the
//! whole outside of it.

use super::file::File;
use crate::language::Language;
use crate::policy::Setting;
use crate::tree::{Arg, Id, Kind};
use crate::value::{Unit, Values};

/// Calls that limit what they are given, or what stands in their block.
const AROUND: &[&str] = &[
    "timeout",
    "wait_for",
    "fail_after",
    "move_on_after",
    "withTimeout",
    "withTimeoutOrNull",
    "timeout_at",
    "WaitAsync",
    "Timeout",
    "orTimeout",
];
/// Calls that make a context, a signal or a token that ends.
const MAKES: &[&str] = &["WithTimeout", "WithTimeoutCause"];

/// The longest that one attempt may take.
pub(super) fn of_attempt(file: &File<'_, '_>, place: Id, operation: Id) -> Option<Setting<f64>> {
    let values = file.values()?;
    let tree = file.tree;
    if let Kind::Call { args, .. } = tree.kind(operation)
        && let Some(found) = args.iter().find_map(|arg| named(file, values, arg))
    {
        return Some(found);
    }
    around(file, values, operation, Some(place)).or_else(|| made(file, values, place, operation))
}

/// The longest that all attempts may take together.
pub(super) fn of_all(file: &File<'_, '_>, place: Id) -> Option<Setting<f64>> {
    around(file, file.values()?, place, None)
}

/// `timeout=5`, `{ timeout: 5000 }`.
fn named(file: &File<'_, '_>, values: &Values<'_, '_>, arg: &Arg<'_>) -> Option<Setting<f64>> {
    if arg.name == Some("timeout") {
        return millis(file, values, arg.value);
    }
    let Kind::Record { entries, .. } = file.tree.kind(arg.value) else { return None };
    let entry = entries.iter().find(|entry| entry.key.as_deref() == Some("timeout"))?;
    millis(file, values, entry.value)
}

/// What stands around something, up to `until` or the function's edge.
fn around(
    file: &File<'_, '_>,
    values: &Values<'_, '_>,
    from: Id,
    until: Option<Id>,
) -> Option<Setting<f64>> {
    let tree = file.tree;
    for up in tree.ancestors(from) {
        let limit = match tree.kind(up) {
            _ if Some(up) == until => return None,
            Kind::With { items, .. } => items.iter().find_map(|item| limit(file, values, *item)),
            Kind::Call { .. } => limit(file, values, up),
            // The function of a call that limits it is no edge.
            Kind::Function { name: Some(_), .. } => return None,
            _ => None,
        };
        if limit.is_some() {
            return limit;
        }
    }
    None
}

fn limit(file: &File<'_, '_>, values: &Values<'_, '_>, call: Id) -> Option<Setting<f64>> {
    let Kind::Call { callee, args, .. } = file.tree.kind(call) else { return None };
    let last = file.tree.last_name(*callee)?;
    if !AROUND.contains(&last) {
        return None;
    }
    args.iter().take(3).find_map(|arg| millis(file, values, arg.value))
}

/// `ctx, cancel := context.WithTimeout(parent, d)` in each round, of which the operation has `ctx`.
fn made(
    file: &File<'_, '_>,
    values: &Values<'_, '_>,
    place: Id,
    operation: Id,
) -> Option<Setting<f64>> {
    let tree = file.tree;
    tree.walk_here(place).find_map(|at| {
        let (target, value) = match tree.kind(at) {
            Kind::Let { target, value: Some(value), .. } | Kind::Assign { target, value, .. } => {
                (*target, *value)
            }
            _ => return None,
        };
        let Kind::Call { callee, args, .. } = tree.kind(value) else { return None };
        if !MAKES.contains(&tree.last_name(*callee)?) {
            return None;
        }
        let name = match tree.kind(target) {
            Kind::List(all) => tree.last_name(*all.first()?)?,
            _ => tree.last_name(target)?,
        };
        let given = tree.walk_here(operation).any(|one| tree.last_name(one) == Some(name));
        given.then(|| args.get(1).and_then(|arg| millis(file, values, arg.value))).flatten()
    })
}

fn millis(file: &File<'_, '_>, values: &Values<'_, '_>, id: Id) -> Option<Setting<f64>> {
    if matches!(file.tree.kind(id), Kind::Text(_) | Kind::Bool(_) | Kind::Function { .. }) {
        return None;
    }
    let bare = match file.language {
        Language::Python | Language::Ruby | Language::Php => Unit::S,
        Language::Go => Unit::Ns,
        _ => Unit::Ms,
    };
    let ms = values.of(id).millis(bare).filter(|ms| ms.is_finite() && *ms > 0.0)?;
    Some(Setting::written(ms, file.tree.span(id).line))
}

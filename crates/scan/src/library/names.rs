//! Whether a name in code is one of a library.

use crate::language::Language;
use crate::tree::{Id, Kind, Tree};
use crate::value::Values;

use super::catalogue::{Entry, Shape};

/// The parts of a qualified name in any language's writing.
pub(super) fn segments(name: &str) -> Vec<&str> {
    each_segment(name).collect()
}

/// The parts one by one.
fn each_segment(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split(['.', '/', ':', '\\']).filter(|part| !part.is_empty())
}

/// Whether a module is a package or inside of it.
fn inside(module: &str, package: &str) -> bool {
    begins(each_segment(module), package)
        || is_fork(module, package) && begins(each_segment(module).skip(1), package)
}

fn begins<'m>(mut module: impl Iterator<Item = &'m str>, package: &str) -> bool {
    // `aws_sdk_*` is any name that begins so.
    let fits = |part: &str, wanted: &str| match wanted.strip_suffix('*') {
        Some(start) => part.starts_with(start),
        None => part == wanted,
    };
    each_segment(package).all(|wanted| module.next().is_some_and(|part| fits(part, wanted)))
}

/// Whether a module of npm is a copy that somebody keeps under an own name: `@somebody/retry`. Only
/// names that say what they do: `@somebody/axios` may be anything.
fn is_fork(module: &str, package: &str) -> bool {
    let (mut module, mut package) = (each_segment(module), each_segment(package));
    let (Some(scope), Some(name)) = (module.next(), module.next()) else { return false };
    let (Some(own), None) = (package.next(), package.next()) else { return false };
    scope.starts_with('@') && name == own && (own.contains("retry") || own.contains("backoff"))
}

fn ends_with(parts: &[&str], name: &[&str]) -> bool {
    // `*Client` is any name that ends so.
    let fits = |(part, name): (&&str, &&str)| match name.strip_prefix('*') {
        Some(end) => part.ends_with(end),
        None => part == name,
    };
    parts.len() >= name.len() && parts[parts.len() - name.len()..].iter().zip(name).all(fits)
}

/// Whether anything of a file may be of this library.
pub(super) fn active(entry: &Entry, values: &Values<'_, '_>, language: Language) -> bool {
    if entry.background || entry.shapes.is_empty() {
        return false;
    }
    if imported(entry, values) {
        return true;
    }
    let text = values.tree().text();
    let written_in_full = written_in_full(language);
    entry.shapes.iter().any(|shape| {
        if shape.free && !shape.keys.is_empty() {
            return shape.keys.iter().all(|key| text.contains(key.as_str()));
        }
        (shape.free || written_in_full)
            && shape_names(shape)
                .any(|name| last_word(name).is_some_and(|last| text.contains(last)))
    })
}

/// What stands in a text where the name does.
fn last_word(name: &str) -> Option<&str> {
    each_segment(name).next_back().map(|last| last.trim_start_matches('*'))
}

/// Whether names of other packages need no import.
fn written_in_full(language: Language) -> bool {
    !matches!(
        language,
        Language::Python
            | Language::Go
            | Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
    )
}

/// Whether the file imports the package.
pub(super) fn imported(entry: &Entry, values: &Values<'_, '_>) -> bool {
    let modules = values.imports().modules();
    modules.into_iter().any(|module| {
        entry.imports.iter().any(|import| inside(module, import) || inside_item(values, import))
    })
}

/// How closely an entry's imports are those of the file: of two entries for one place the closer
/// one is meant, as `backoff/v5` before `backoff`.
pub(super) fn closeness(entry: &Entry, values: &Values<'_, '_>) -> usize {
    let fitting =
        |import: &&String| values.imports().modules().any(|module| inside(module, import));
    entry.imports.iter().filter(fitting).map(|import| segments(import).len()).max().unwrap_or(0)
}

/// `from urllib3.util import Retry` where the entry names `urllib3.util.Retry`.
fn inside_item(values: &Values<'_, '_>, import: &str) -> bool {
    let Some(last) = each_segment(import).next_back() else { return false };
    values.imports().name(last).is_some_and(|found| {
        found.item == Some(last) && inside(&format!("{}.{last}", found.module), import)
    })
}

/// Every name that a shape looks for.
pub(super) fn shape_names(shape: &Shape) -> impl Iterator<Item = &str> {
    shape
        .call
        .iter()
        .chain(&shape.method)
        .chain(&shape.decorator)
        .chain(&shape.record)
        .chain(&shape.base)
        .chain(&shape.set)
        .map(String::as_str)
}

/// Whether what stands at `id` (a name or a field) is `name` of this library.
pub(super) fn is_named(
    entry: &Entry,
    shape: &Shape,
    name: &str,
    id: Id,
    values: &Values<'_, '_>,
) -> bool {
    let tree = values.tree();
    let wanted = segments(name);
    let path = tree.path(id);
    if shape.free && wanted.len() > 1 && path.as_ref().is_some_and(|path| ends_with(path, &wanted))
    {
        return true;
    }
    let found = values.imports().qualify(tree, id);
    // From another file of the project, which may hand on what it imports.
    let handed_on = found.as_ref().is_some_and(|found| {
        shape.free && found.module.starts_with('.') && found.path.last() == wanted.last()
    });
    if handed_on {
        return true;
    }
    if let Some(found) = found {
        let full = format!("{found}");
        let mut parts = segments(&full);
        if parts.last() == Some(&"default") {
            parts.pop();
        }
        let package = entry.imports.iter().any(|import| inside(&full, import));
        let written = path.unwrap_or_default();
        return package
            && if wanted == ["default"] {
                entry.imports.iter().any(|import| {
                    let own = segments(import);
                    own == parts || parts.len() == 2 && is_fork(&full, import)
                })
            } else {
                ends_with(&parts, &wanted) || (wanted.len() > 1 && ends_with(&written, &wanted))
            };
    }
    let Some(written) = path else {
        // Something like `f().retry`: only a free name of one part.
        return shape.free && wanted.len() == 1 && tree.last_name(id) == Some(wanted[0]);
    };
    if !ends_with(&written, &wanted) {
        return false;
    }
    if shape.free && (wanted.len() > 1 || !values.declares(wanted[0])) {
        return true;
    }
    let full = written.join(".");
    if written.len() > 1 && entry.imports.iter().any(|import| inside(&full, import)) {
        return true;
    }
    let whole = values.imports().everything_of().any(|module| {
        entry.imports.iter().any(|import| inside(module, import) || inside(import, module))
    });
    let first = written[0];
    if values.declares(first) {
        return false;
    }
    whole || (wanted.len() > 1 && imported(entry, values))
}

/// The name of what is called, constructed, or written as a decorator.
pub(super) fn callee_of(tree: &Tree<'_>, id: Id) -> Option<Id> {
    match tree.kind(id) {
        Kind::Call { callee, .. } => Some(without_types(tree, *callee)),
        Kind::Record { ty: Some(ty), .. } => Some(*ty),
        Kind::Name(_) | Kind::Field { .. } => Some(id),
        _ => None,
    }
}

/// `NewBuilder[any]` of Go is an index: what is looked into is the name.
pub(super) fn without_types(tree: &Tree<'_>, id: Id) -> Id {
    match tree.kind(id) {
        Kind::Index { of, .. } => *of,
        _ => id,
    }
}

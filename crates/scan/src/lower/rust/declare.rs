//! Items: what is declared, with the attributes before it.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::{field, flow, last, macros, maybe, node, text_of};
use crate::lower::fields::Fields as _;
use crate::lower::{defaults, has_word, named};
use crate::tree::{Builder, Id, Kind, LoopForm, Param};

/// Statements or items in order.
pub(super) fn block<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let mut all = Vec::new();
    let mut decorators = Vec::new();
    for child in named(at) {
        match child.kind() {
            "attribute_item" => decorators.push(attribute(b, child)),
            "inner_attribute_item" | "label" | "empty_statement" | "shebang" => {}
            "use_declaration" => {
                decorators.clear();
                imports(b, child, &mut all);
            }
            kind if kind.ends_with("_item") => {
                let decorators = std::mem::take(&mut decorators);
                all.push(b.deeper(child, |b| item(b, child, decorators)));
            }
            _ => {
                decorators.clear();
                all.push(node(b, child));
            }
        }
    }
    let body = b.add(at, Kind::Block(all));
    let label = flow::label(b, at).filter(|_| at.kind() == "block");
    let Some(label) = label else { return body };
    let test = b.add(at, Kind::Bool(false));
    let form = LoopForm::DoWhile(test);
    b.add(at, Kind::Loop { form, label: Some(label), body, otherwise: None })
}

/// `#[a(b = 1)]` is the call `a(b = 1)`.
fn attribute<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let Some(inner) = named(at).first().copied() else {
        return b.add(at, Kind::Other(Vec::new()));
    };
    let callee = match named(inner).first() {
        Some(path) => node(b, *path),
        None => b.add(inner, Kind::Other(Vec::new())),
    };
    match inner.child_in("arguments") {
        None => callee,
        Some(tokens) => {
            let args = macros::arguments(b, tokens).unwrap_or_default();
            b.add(inner, Kind::Call { callee, args, new: false })
        }
    }
}

/// A function, a type, a constant, an `impl`, a module.
pub(super) fn item<'s>(b: &mut Builder<'s>, at: Syntax<'_>, decorators: Vec<Id>) -> Id {
    let name = text_of(b, at, "name");
    let kind = match at.kind() {
        "function_item" | "function_signature_item" => {
            let params = params(b, at);
            let body = field(b, at, "body");
            let mut modifiers = named(at).into_iter();
            let is_async = modifiers
                .any(|child| child.kind() == "function_modifiers" && has_word(child, "async"));
            Kind::Function { name, params, body, decorators, is_async }
        }
        "const_item" | "static_item" => {
            let target = field(b, at, "name");
            let ty = text_of(b, at, "type");
            let value = maybe(b, at, "value");
            let mutable = named(at).iter().any(|child| child.kind() == "mutable_specifier");
            Kind::Let { target, ty, value, constant: !mutable }
        }
        "impl_item" => {
            let name = at.child_in("type").map(|ty| base(b, ty));
            let bases = maybe(b, at, "trait").into_iter().collect();
            Kind::Class { name, bases, decorators, body: body(b, at) }
        }
        "trait_item" => {
            let bounds = at.child_in("bounds").map(named).unwrap_or_default();
            let bases = bounds.into_iter().map(|bound| node(b, bound)).collect();
            Kind::Class { name, bases, decorators, body: body(b, at) }
        }
        "struct_item" | "enum_item" | "union_item" => {
            let mut members = Vec::new();
            let mut default = None;
            for child in at.child_in("body").map(named).unwrap_or_default() {
                if child.kind() == "attribute_item" {
                    // Others are not parsed: most say nothing of a value.
                    if default.is_none() && b.text(child).contains("default") {
                        let attribute = attribute(b, child);
                        default = defaults::of_attribute(b, child, attribute);
                    }
                    continue;
                }
                members.push(member(b, child, default.take()));
            }
            let body = b.add(at, Kind::Block(members));
            Kind::Class { name, bases: Vec::new(), decorators, body }
        }
        "mod_item" if decorators.is_empty() => return body(b, at),
        // Built only where an attribute says so.
        "mod_item" => Kind::Class { name, bases: Vec::new(), decorators, body: body(b, at) },
        _ => {
            let all = named(at).into_iter().map(|child| node(b, child)).collect();
            Kind::Other(all)
        }
    };
    b.add(at, kind)
}

fn body<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    match at.child_in("body") {
        Some(list) => block(b, list),
        None => b.add(at, Kind::Block(Vec::new())),
    }
}

/// A type's name without its path and what it is of.
fn base<'s>(b: &Builder<'s>, at: Syntax<'_>) -> &'s str {
    let mut at = at;
    while let Some(inner) = at.child_in("type").or_else(|| at.child_in("name")) {
        at = inner;
    }
    b.text(at)
}

/// A field with its type, or a variant with its number.
fn member<'s>(b: &mut Builder<'s>, at: Syntax<'_>, default: Option<Id>) -> Id {
    if !matches!(at.kind(), "field_declaration" | "enum_variant") {
        return node(b, at);
    }
    let target = field(b, at, "name");
    let ty = text_of(b, at, "type");
    let value = maybe(b, at, "value").or(default);
    b.add(at, Kind::Let { target, ty, value, constant: at.kind() == "enum_variant" })
}

fn params<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Vec<Param<'s>> {
    let list = at.child_in("parameters");
    let children = list.map(named).unwrap_or_default().into_iter();
    let children =
        children.filter(|child| !matches!(child.kind(), "self_parameter" | "attribute_item"));
    children
        .map(|child| {
            let pattern = child.child_in("pattern").unwrap_or(child);
            let name = b.text(pattern).trim_start_matches("mut ");
            Param { name, default: None, ty: text_of(b, child, "type") }
        })
        .collect()
}

/// `|x| …`, `async move || …`.
pub(super) fn closure<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let params = params(b, at);
    let body = match at.child_in("body") {
        Some(body) => node(b, body),
        None => last(b, at),
    };
    let is_async = has_word(at, "async");
    b.add(at, Kind::Function { name: None, params, body, decorators: Vec::new(), is_async })
}

/// One node for each leaf of a `use`.
fn imports<'s>(b: &mut Builder<'s>, at: Syntax<'_>, out: &mut Vec<Id>) {
    let Some(argument) = at.child_in("argument") else { return };
    // What is left to do: a piece, and the path before it.
    let mut queue = vec![(argument, Cow::Borrowed(""))];
    while let Some((at, before)) = queue.pop() {
        let (path, alias) = match at.kind() {
            "scoped_use_list" => {
                let path = text_of(b, at, "path").unwrap_or_default();
                let before = join(&before, path);
                let list = at.child_in("list").map(named).unwrap_or_default();
                queue.extend(list.into_iter().rev().map(|child| (child, before.clone())));
                continue;
            }
            "use_list" => {
                queue.extend(named(at).into_iter().rev().map(|child| (child, before.clone())));
                continue;
            }
            "use_wildcard" => {
                let path = named(at).first().map(|path| b.text(*path)).unwrap_or_default();
                let module = join(&before, path);
                out.push(b.add(at, Kind::Import { module, item: None, alias: None, all: true }));
                continue;
            }
            "use_as_clause" => {
                (text_of(b, at, "path").unwrap_or_default(), text_of(b, at, "alias"))
            }
            _ => (b.text(at), None),
        };
        let (module, item) = match path.rsplit_once("::") {
            _ if path == "self" && !before.is_empty() => (before, None),
            Some((module, item)) => (join(&before, module), Some(item)),
            None if before.is_empty() => (Cow::Borrowed(path), None),
            None => (before, Some(path)),
        };
        out.push(b.add(at, Kind::Import { module, item, alias, all: false }));
    }
}

fn join<'s>(before: &Cow<'s, str>, path: &'s str) -> Cow<'s, str> {
    match (before.is_empty(), path.is_empty()) {
        (true, _) => Cow::Borrowed(path),
        (_, true) => before.clone(),
        _ => Cow::Owned(format!("{before}::{path}")),
    }
}

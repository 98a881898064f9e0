//! Imports, one node for each name.
//!
//! `import a from 'm'` is module `m`, item `default`, alias `a`; `import {b as c} from 'm'` is
//! item `b`, alias `c`; `import * as n from 'm'` is no item, alias `n`. `const x = require('m')`
//! and `await import('m')` are no item, alias `x`; `require('m').x` is item `x`;
//! `const {y: z} = require('m')` is item `y`, alias `z`. Then there is no [`Kind::Let`].
//! `export {b as c} from 'm'` is an import too: a file that only passes a name on.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::super::{in_field, named, unquoted};
use super::key;
use crate::lower::fields::Fields as _;
use crate::tree::{Builder, Id, Kind};

/// An import; `alias` is left out where it says nothing new.
fn add<'s>(
    b: &mut Builder<'s>,
    at: Syntax<'_>,
    module: &'s str,
    item: Option<&'s str>,
    alias: Option<&'s str>,
) -> Id {
    let alias = alias.filter(|alias| item != Some(alias));
    b.add(at, Kind::Import { module: Cow::Borrowed(module), item, alias, all: false })
}

/// `import …`.
pub(super) fn statement<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let inner = named(at);
    // `import x = require('m')` has its source further in.
    let holder = inner.iter().find(|child| child.kind() == "import_require_clause");
    let source = holder.unwrap_or(&at).child_in("source");
    let Some(module) = source.map(|source| unquoted(b.text(source))) else { return };
    if let Some(holder) = holder {
        let alias = named(*holder).first().map(|name| b.text(*name));
        all.push(add(b, at, module, None, alias));
        return;
    }
    let Some(clause) = inner.into_iter().find(|child| child.kind() == "import_clause") else {
        all.push(add(b, at, module, None, None));
        return;
    };
    for part in named(clause) {
        match part.kind() {
            "identifier" => {
                let alias = b.text(part);
                all.push(add(b, part, module, Some("default"), Some(alias)));
            }
            "namespace_import" => {
                let alias = named(part).first().map(|name| b.text(*name));
                all.push(add(b, part, module, None, alias));
            }
            _ => specifiers(b, part, module, all),
        }
    }
}

/// `export … from 'm'`.
pub(super) fn again<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) {
    let source = at.child_in("source");
    let Some(module) = source.map(|source| unquoted(b.text(source))) else { return };
    for part in named(at) {
        match part.kind() {
            "export_clause" => return specifiers(b, part, module, all),
            "namespace_export" => {
                let alias = named(part).first().map(|name| b.text(*name));
                all.push(add(b, part, module, None, alias));
                return;
            }
            _ => {}
        }
    }
    let module = Cow::Borrowed(module);
    all.push(b.add(at, Kind::Import { module, item: None, alias: None, all: true }));
}

/// `{a, b as c}`.
fn specifiers<'s>(b: &mut Builder<'s>, at: Syntax<'_>, module: &'s str, all: &mut Vec<Id>) {
    for part in named(at) {
        let Some(name) = part.child_in("name") else { continue };
        let item = unquoted(b.text(name));
        let alias = part.child_in("alias").map(|alias| unquoted(b.text(alias)));
        all.push(add(b, part, module, Some(item), alias));
    }
}

/// `const … = require('m')`: whether the whole variable is an import.
pub(super) fn required<'s>(b: &mut Builder<'s>, at: Syntax<'_>, all: &mut Vec<Id>) -> bool {
    let (Some(target), Some(value)) = (at.child_in("name"), at.child_in("value")) else {
        return false;
    };
    let Some((module, item)) = loaded(b, value) else { return false };
    if target.kind() == "identifier" {
        let alias = b.text(target);
        all.push(add(b, at, module, item, Some(alias)));
        return true;
    }
    if target.kind() != "object_pattern" || item.is_some() {
        return false;
    }
    let mut names = Vec::new();
    for part in named(target) {
        match part.kind() {
            "shorthand_property_identifier_pattern" => names.push((part, b.text(part), None)),
            "pair_pattern" => {
                let name = part.child_in("key").and_then(|name| key(b, name));
                let value = part.child_in("value");
                let value = value.filter(|value| value.kind() == "identifier");
                let (Some(name), Some(value)) = (name, value) else { return false };
                names.push((part, name, Some(b.text(value))));
            }
            // A default or the rest: no plain import.
            _ => return false,
        }
    }
    for (part, item, alias) in names {
        all.push(add(b, part, module, Some(item), alias));
    }
    true
}

/// The module and the item of `require('m')`, `require('m').x`, `(await import('m')).x`.
fn loaded<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<(&'s str, Option<&'s str>)> {
    let (mut at, mut item) = (at, None);
    loop {
        match at.kind() {
            "parenthesized_expression" | "await_expression" | "as_expression" => {
                at = named(at).first().copied()?;
            }
            "member_expression" if item.is_none() => {
                item = Some(b.text(at.child_in("property")?));
                at = at.child_in("object")?;
            }
            "call_expression" => {
                let function = at.child_in("function")?;
                let args = in_field(at, "arguments").first().copied().map(named)?;
                return match args[..] {
                    [only]
                        if only.kind() == "string"
                            && matches!(b.text(function), "require" | "import") =>
                    {
                        Some((unquoted(b.text(only)), item))
                    }
                    _ => None,
                };
            }
            _ => return None,
        }
    }
}

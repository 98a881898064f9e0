//! Methods, blocks, classes.

use tree_sitter::Node as Syntax;

use super::super::named;
use super::scope::Scope;
use super::{all_in, block, body, node};
use crate::lower::fields::Fields as _;
use crate::tree::{Builder, Id, Kind, Param};

/// The parameters in a list; each becomes a variable.
fn params<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Vec<Param<'s>> {
    let Some(list) = at.child_in("parameters") else { return Vec::new() };
    let mut all = Vec::new();
    for part in named(list) {
        let name = part.child_in("name").unwrap_or(part);
        let default = part.child_in("value").map(|value| node(b, s, value));
        declare(b, s, name);
        // `*rest` is kept as written; `&block` is a value like any other.
        let name = match part.kind() {
            "splat_parameter" | "hash_splat_parameter" => part,
            _ => name,
        };
        all.push(Param { name: b.text(name), default, ty: None });
    }
    all
}

/// Every name in a parameter, which may be `(a, (b, c))`.
fn declare<'s>(b: &Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) {
    let mut waiting = vec![at];
    while let Some(at) = waiting.pop() {
        if at.kind() == "identifier" {
            s.declare(b.text(at));
        }
        waiting.extend(named(at));
    }
}

/// The parameters of a block that is a loop's body, as names.
pub(super) fn declare_params<'s>(
    b: &mut Builder<'s>,
    s: &mut Scope<'s>,
    at: Syntax<'_>,
) -> Vec<Id> {
    let Some(list) = at.child_in("parameters") else { return Vec::new() };
    declare(b, s, list);
    let names = named(list).into_iter();
    names.map(|name| b.add(name, Kind::Name(b.text(name)))).collect()
}

/// `def`; a body with `rescue` is a [`Kind::Try`] in a [`Kind::Block`].
pub(super) fn method<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let name = at.child_in("name").map(|name| b.text(name));
    let outside = std::mem::replace(s, Scope::new());
    let params = params(b, s, at);
    let body = match at.child_in("body") {
        // `def f = x`.
        Some(value) if value.kind() != "body_statement" => node(b, s, value),
        _ => body(b, s, at, "body"),
    };
    *s = outside;
    b.add(at, Kind::Function { name, params, body, decorators: Vec::new(), is_async: false })
}

/// `{ |x| … }`, `do |x| … end`.
pub(super) fn closure<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    s.inside(false, |s| {
        let params = params(b, s, at);
        let body = body(b, s, at, "body");
        function(b, at, params, body)
    })
}

/// `->(x) { … }`.
pub(super) fn lambda<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    s.inside(false, |s| {
        let params = params(b, s, at);
        let inner = at.child_in("body").unwrap_or(at);
        let body = body(b, s, inner, "body");
        function(b, at, params, body)
    })
}

fn function<'s>(b: &mut Builder<'s>, at: Syntax<'_>, params: Vec<Param<'s>>, body: Id) -> Id {
    b.add(at, Kind::Function { name: None, params, body, decorators: Vec::new(), is_async: false })
}

/// A class or a module; `class << self` has no name.
pub(super) fn class<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let name = at.child_in("name").map(|name| b.text(name));
    let bases = at.child_in("superclass");
    let bases = bases.map(|base| all_in(b, s, base)).unwrap_or_default();
    let outside = std::mem::replace(s, Scope::new());
    let body = match at.child_in("body") {
        Some(inner) => b.deeper(inner, |b| block(b, s, inner)),
        None => b.add(at, Kind::Block(Vec::new())),
    };
    *s = outside;
    b.add(at, Kind::Class { name, bases, decorators: Vec::new(), body })
}

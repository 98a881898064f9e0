//! Calls, and the loops, failures and imports that are written as calls.

use std::borrow::Cow;

use tree_sitter::Node as Syntax;

use super::super::{named, unquoted};
use super::definition::{closure, declare_params};
use super::scope::Scope;
use super::{body, key, node, paired};
use crate::lower::fields::Fields as _;
use crate::tree::{Arg, Builder, Entry, Id, Kind, LoopForm, Op};

/// A name: a variable, or a call without arguments.
pub(super) fn bare<'s>(b: &mut Builder<'s>, s: &Scope<'s>, at: Syntax<'_>) -> Id {
    let name = b.text(at);
    if !s.knows(name) && matches!(name, "raise" | "fail") {
        return b.add(at, Kind::Throw(None));
    }
    let id = b.add(at, Kind::Name(name));
    if s.knows(name) {
        return id;
    }
    b.add(at, Kind::Call { callee: id, args: Vec::new(), new: false })
}

/// `yield x`.
pub(super) fn yielded<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let callee = b.add(at, Kind::Name("yield"));
    let args = match named(at).first() {
        Some(list) => arguments(b, s, *list),
        None => Vec::new(),
    };
    b.add(at, Kind::Call { callee, args, new: false })
}

/// Any call.
pub(super) fn call<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    let receiver = at.child_in("receiver");
    let list = at.child_in("arguments");
    let inner = at.child_in("block");
    // `f.(x)` is `f.call(x)`.
    let name = at.child_in("method").map_or("call", |name| b.text(name));
    if let Some(inner) = inner
        && let Some(id) = iteration(b, s, at, name, inner)
    {
        return id;
    }
    if receiver.is_none()
        && let Some(id) = statement(b, s, at, name, list)
    {
        return id;
    }
    let of = receiver.map(|receiver| node(b, s, receiver));
    let new = name == "new"
        && receiver.is_some_and(|of| matches!(of.kind(), "constant" | "scope_resolution"));
    if let (Some(of), "freeze", None) = (of, name, list) {
        return of;
    }
    let callee = match of {
        Some(of) if new => of,
        Some(of) => b.add(at, Kind::Field { of, name }),
        None => match at.child_in("method") {
            Some(method) => b.add(method, Kind::Name(name)),
            None => b.add(at, Kind::Name(name)),
        },
    };
    let mut args = list.map(|list| arguments(b, s, list)).unwrap_or_default();
    if let Some(inner) = inner {
        let value = b.deeper(inner, |b| closure(b, s, inner));
        args.push(Arg { name: None, value, spread: false });
    }
    b.add(at, Kind::Call { callee, args, new })
}

/// `raise …`, `require …`.
fn statement<'s>(
    b: &mut Builder<'s>,
    s: &mut Scope<'s>,
    at: Syntax<'_>,
    name: &str,
    list: Option<Syntax<'_>>,
) -> Option<Id> {
    match name {
        "require" | "require_relative" => {
            let only = named(list?);
            let [only] = only[..] else { return None };
            let module = key(b, only).filter(|_| only.kind() == "string")?;
            let module = Cow::Borrowed(unquoted(module));
            Some(b.add(at, Kind::Import { module, item: None, alias: None, all: false }))
        }
        "raise" | "fail" => {
            let mut args = list.map(|list| arguments(b, s, list)).unwrap_or_default();
            // `raise A, 'why'` makes an `A`.
            let value = if args.len() > 1 {
                let callee = args.remove(0).value;
                Some(b.add(at, Kind::Call { callee, args, new: true }))
            } else {
                args.first().map(|arg| arg.value)
            };
            Some(b.add(at, Kind::Throw(value)))
        }
        _ => None,
    }
}

fn arguments<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, list: Syntax<'_>) -> Vec<Arg<'s>> {
    let mut args = Vec::new();
    for child in named(list) {
        let arg = match child.kind() {
            "pair" => {
                let key = child.child_in("key");
                let name = key.and_then(|name| self::key(b, name));
                let value = paired(b, s, child);
                if key.is_some_and(|key| key.kind() == "string") || name.is_none() {
                    let entries = vec![Entry { key: name.map(Cow::Borrowed), value }];
                    let value = b.add(child, Kind::Record { ty: None, entries });
                    Arg { name: None, value, spread: false }
                } else {
                    Arg { name, value, spread: false }
                }
            }
            "splat_argument" | "hash_splat_argument" => match named(child).first() {
                Some(inner) => Arg { name: None, value: node(b, s, *inner), spread: true },
                None => continue,
            },
            "forward_argument" => continue,
            _ => Arg { name: None, value: node(b, s, child), spread: false },
        };
        args.push(arg);
    }
    args
}

/// `loop { }`, `n.times { }`, `a.upto(b) { }`, `a.downto(b) { }`, `xs.each { }`.
fn iteration<'s>(
    b: &mut Builder<'s>,
    s: &mut Scope<'s>,
    at: Syntax<'_>,
    name: &str,
    inner: Syntax<'_>,
) -> Option<Id> {
    let receiver = at.child_in("receiver");
    let args = at.child_in("arguments").map(named).unwrap_or_default();
    let over = match (name, receiver, &args[..]) {
        ("loop", None, []) => None,
        ("times" | "each", Some(of), []) => {
            let of = node(b, s, of);
            let range = Kind::Range { from: None, to: Some(of), inclusive: false };
            Some(if name == "times" { (b.add(at, range), None) } else { (of, None) })
        }
        ("upto" | "downto", Some(of), [end]) => {
            let (from, end) = (node(b, s, of), node(b, s, *end));
            Some((from, Some(end)))
        }
        _ => return None,
    };
    let id = b.deeper(inner, |b| {
        s.inside(true, |s| {
            let names = declare_params(b, s, inner);
            let var = match names[..] {
                [] => None,
                [only] => Some(only),
                _ => Some(b.add(inner, Kind::List(names))),
            };
            let form = match over {
                None => LoopForm::Endless,
                Some((over, None)) => LoopForm::Each { var, over },
                Some((from, Some(to))) if name == "upto" => {
                    let range = Kind::Range { from: Some(from), to: Some(to), inclusive: true };
                    LoopForm::Each { var, over: b.add(at, range) }
                }
                Some((from, Some(to))) => down(b, inner, var, from, to),
            };
            let body = body(b, s, inner, "body");
            b.add(at, Kind::Loop { form, label: None, body, otherwise: None })
        })
    });
    Some(id)
}

/// `from.downto(to)`: counted, since a [`Kind::Range`] goes up.
fn down<'s>(b: &mut Builder<'s>, at: Syntax<'_>, var: Option<Id>, from: Id, to: Id) -> LoopForm {
    let name = match var.map(|var| b.kind(var)) {
        Some(Kind::Name(name)) => *name,
        // Nobody looks at it: it goes through the same numbers upward.
        _ => {
            let range = Kind::Range { from: Some(to), to: Some(from), inclusive: true };
            return LoopForm::Each { var, over: b.add(at, range) };
        }
    };
    let mut again = || b.add(at, Kind::Name(name));
    let (first, left, of) = (again(), again(), again());
    let let_it = Kind::Let { target: first, ty: None, value: Some(from), constant: false };
    LoopForm::Counted {
        init: Some(b.add(at, let_it)),
        test: Some(b.add(at, Kind::Binary { op: Op::AtLeast, left, right: to })),
        step: Some(b.add(at, Kind::Step { of, by: -1, before: false })),
    }
}

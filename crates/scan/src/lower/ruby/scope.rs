//! Which names are variables: those assigned before, as Ruby decides it.

use std::collections::HashSet;

use tree_sitter::Node as Syntax;

use super::super::named;
use super::{all_in, field, node};
use crate::lower::fields::Fields as _;
use crate::tree::{Builder, Id, Kind};

/// What is known where a piece of syntax stands.
pub(super) struct Scope<'s> {
    /// Variables, those of the innermost block last.
    locals: Vec<HashSet<&'s str>>,
    /// Whether `next` goes on with a loop; else it leaves a block.
    pub(super) in_loop: bool,
}

impl<'s> Scope<'s> {
    /// A file, a method or a class: nothing from outside is seen.
    pub(super) fn new() -> Self {
        Self { locals: vec![HashSet::new()], in_loop: false }
    }

    pub(super) fn declare(&mut self, name: &'s str) {
        if !self.knows(name)
            && let Some(inner) = self.locals.last_mut()
        {
            inner.insert(name);
        }
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.locals.iter().any(|names| names.contains(name))
    }

    /// Lowers what is in a block: its own variables end with it.
    pub(super) fn inside<T>(&mut self, in_loop: bool, lower: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.in_loop, in_loop);
        self.locals.push(HashSet::new());
        let result = lower(self);
        self.locals.pop();
        self.in_loop = outside;
        result
    }
}

/// What is assigned to. A name there becomes a variable.
pub(super) fn target<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    b.deeper(at, |b| {
        let kind = match at.kind() {
            "identifier" => {
                s.declare(b.text(at));
                Kind::Name(b.text(at))
            }
            "call" => match at.child_in("method") {
                Some(name) => Kind::Field { of: field(b, s, at, "receiver"), name: b.text(name) },
                None => Kind::Other(all_in(b, s, at)),
            },
            "left_assignment_list" | "destructured_left_assignment" => {
                Kind::List(named(at).into_iter().map(|part| target(b, s, part)).collect())
            }
            "rest_assignment" => {
                Kind::Other(named(at).into_iter().map(|part| target(b, s, part)).collect())
            }
            _ => return node(b, s, at),
        };
        b.add(at, kind)
    })
}

/// A pattern of `when` or `in`; a name alone or after `=>` becomes a variable.
pub(super) fn pattern<'s>(b: &mut Builder<'s>, s: &mut Scope<'s>, at: Syntax<'_>) -> Id {
    match at.kind() {
        "identifier" => target(b, s, at),
        "as_pattern" => {
            let name = at.child_in("name").map(|name| b.text(name));
            name.into_iter().for_each(|name| s.declare(name));
            field(b, s, at, "value")
        }
        _ => node(b, s, at),
    }
}

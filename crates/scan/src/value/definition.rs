//! From a name to the expression that gives it its value.

use super::bindings::scope;
use super::eval::Values;
use crate::tree::{Id, Kind};

impl Values<'_, '_> {
    /// The expression that a name or a field of the object itself stands for in this file, where
    /// it is set once; names that stand for names are followed.
    #[must_use]
    pub fn definition(&self, id: Id) -> Option<Id> {
        let mut at = id;
        for _ in 0..8 {
            match self.one_definition(at) {
                Some(next) if next != at => at = next,
                _ => break,
            }
        }
        (at != id).then_some(at)
    }

    fn one_definition(&self, id: Id) -> Option<Id> {
        match self.tree.kind(id) {
            Kind::Name(name) => {
                let all = self.bindings.names.get(name)?;
                let mut at = scope(self.tree, id);
                loop {
                    let here: Vec<_> = all.iter().filter(|b| b.scope == at && !b.changes).collect();
                    if !here.is_empty() {
                        let start = self.tree.span(id).start;
                        let before = here.iter().rev().find(|b| self.tree.span(b.at).end <= start);
                        return before.copied().or(here.first().copied())?.value;
                    }
                    if let Kind::Function { params, .. } = self.tree.kind(at)
                        && let Some(param) = params.iter().find(|param| param.name == *name)
                    {
                        return param.default;
                    }
                    if at == self.tree.root() {
                        return None;
                    }
                    at = scope(self.tree, at);
                }
            }
            Kind::Field { of, name }
                if matches!(self.tree.kind(*of), Kind::Name("self" | "this" | "cls")) =>
            {
                let fields = self.bindings.fields.get(name).map_or(&[][..], Vec::as_slice);
                // Where an object is written as a whole: `Self { backoff }` of Rust.
                let entries = self.bindings.entries.get(*name).map_or(&[][..], Vec::as_slice);
                match (fields, entries) {
                    ([only], _) if !only.changes => only.value,
                    ([], [only]) => Some(*only),
                    _ => None,
                }
            }
            Kind::Unary { of, .. } | Kind::Await(of) | Kind::Propagate(of) => Some(*of),
            _ => None,
        }
    }

    /// The one function of this name in the file.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<Id> {
        match self.bindings.functions.get(name)?[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether the file declares a function, a class or a variable of this name.
    #[must_use]
    pub fn declares(&self, name: &str) -> bool {
        self.bindings.functions.contains_key(name)
            || self.bindings.classes.contains_key(name)
            || self.bindings.names.contains_key(name)
    }
}

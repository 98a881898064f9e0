//! What the machine is told of parameters by the one caller that is looked at.

use super::super::caller::Part;
use super::super::value::Value;
use super::Machine;
use super::usual::is_quantity;
use crate::tree::{Id, Kind, Param};

impl<'s> Machine<'_, '_, 's> {
    /// What a parameter is told; `None`: nobody is looked at who calls that function.
    pub(super) fn told(&mut self, function: Id, param: &Param<'s>) -> Option<Value> {
        let told = self.file.caller().filter(|told| told.function == function)?;
        let Some(part) = told.parts.get(param.name) else {
            // This caller leaves it out, so that its default is sure.
            return Some(match param.default {
                Some(default) => self.constant_of(default),
                None => Value::Unknown,
            });
        };
        Some(self.part_told(part, param.name))
    }

    /// All that a function is told, as arguments.
    pub(super) fn all_told(&mut self, function: Id) -> Vec<(Option<&'s str>, Value)> {
        let tree = self.tree;
        let Kind::Function { params, .. } = tree.kind(function) else { return Vec::new() };
        let mut all = Vec::new();
        for param in params {
            match self.told(function, param) {
                None | Some(Value::Unknown) => {}
                Some(value) => all.push((Some(param.name), value)),
            }
        }
        all
    }

    /// A field of an object that is told: `options.retries`.
    pub(super) fn told_field(&mut self, id: Id) -> Option<Value> {
        let told = self.file.caller()?;
        let path = self.tree.path(id)?;
        let [root, fields @ ..] = &path[..] else { return None };
        let named = |up: &Id| match self.tree.kind(*up) {
            Kind::Function { params, .. } => params.iter().any(|param| param.name == *root),
            _ => false,
        };
        let owner = self.tree.ancestors(id).find(named)?;
        if owner != told.function || fields.is_empty() {
            return None;
        }
        let part = told.parts.get(path.join(".").as_str())?;
        Some(self.part_told(part, fields[fields.len() - 1]))
    }

    /// An entry of an object that a parameter takes apart: `({ retries = 3 })`.
    pub(super) fn told_entry(&mut self, place: Id, name: &str) -> Option<Value> {
        let (told, tree) = (self.file.caller()?, self.tree);
        if tree.function_of(place) != Some(told.function) {
            return None;
        }
        let pattern =
            std::iter::once(place).chain(tree.ancestors(place)).take(4).find_map(|up| {
                let Kind::Let { target, value: Some(value), .. } = tree.kind(up) else {
                    return None;
                };
                match (tree.kind(*target), tree.kind(*value)) {
                    (Kind::Record { .. }, Kind::Name(pattern)) => Some(*pattern),
                    _ => None,
                }
            })?;
        let part = told.parts.get(format!("{pattern}.{name}").as_str())?;
        Some(self.part_told(part, name))
    }

    fn part_told(&mut self, part: &Part, name: &str) -> Value {
        match part {
            Part::Open(text) if is_quantity(name) => self.symbol(text.clone(), None),
            _ => part.value().unwrap_or(Value::Unknown),
        }
    }
}

//! Channels of Go: what one function puts into them another takes out, and what was put in is an
//! answer of the operation if it says so.

use super::super::value::Value;
use super::{Exit, Flow, Machine};
use crate::language::Language;
use crate::tree::{Id, Kind, Op};

impl<'s> Machine<'_, '_, 's> {
    /// `results <- value`; `None`: something else.
    pub(super) fn sent(&mut self, id: Id, all: &'_ [Id]) -> Result<Option<Value>, Exit<'s>> {
        let tree = self.tree;
        let [channel, value] = all else { return Ok(None) };
        let between = || {
            let (from, to) = (tree.span(*channel).end as usize, tree.span(*value).start as usize);
            tree.text().get(from..to).is_some_and(|text| text.trim() == "<-")
        };
        if self.file.language != Language::Go || tree.source(id).starts_with("<-") || !between() {
            return Ok(None);
        }
        let found = self.eval(*value)?;
        let key = self.channel(*channel);
        self.heap.insert(key.into(), found);
        Ok(Some(Value::Unknown))
    }

    /// `<-results`: what was put in last, if anything was.
    pub(super) fn received(&mut self, of: Id) -> Flow<'s> {
        let key = self.channel(of);
        match self.heap.get(&*key) {
            Some(value) => Ok(value.clone()),
            None => self.eval(of),
        }
    }

    /// Whether something that was put in is taken out by an arm of a `select`.
    pub(super) fn holds_an_answer(&self, pattern: Id) -> bool {
        let tree = self.tree;
        tree.walk_here(pattern).any(|at| match tree.kind(at) {
            Kind::Unary { op: Op::Other, of } => self.heap.contains_key(&*self.channel(*of)),
            _ => false,
        })
    }

    fn channel(&self, of: Id) -> String {
        format!("<-{}", self.file.squeezed(of))
    }
}

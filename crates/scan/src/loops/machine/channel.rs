//! Channels of Go: what one function puts into them another takes out, and what was put in is an
//! answer of the operation if it says so.

use super::super::candidate::told_through;
use super::super::value::{Part, Value};
use super::{Exit, Flow, Machine, seen};
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

    /// That an arm of a `select` takes out an error is all that is asked about it.
    pub(super) fn notice_an_error(&mut self, pattern: Id) {
        let tree = self.tree;
        let failed = tree.walk_here(pattern).any(|at| match tree.kind(at) {
            Kind::Unary { op: Op::Other, of } => {
                self.heap.get(&*self.channel(*of)) == Some(&Value::Outcome(Part::Error, true))
            }
            _ => false,
        });
        if failed {
            self.notice(seen::ERROR);
        }
    }

    /// What the operation puts into the channels that it was given: an error or an answer.
    pub(super) fn tell_channels(&mut self, call: Id) {
        let failed = self.failing();
        for (name, errors) in told_through(self.file, call) {
            let key = format!("<-{name}");
            if errors == failed {
                let part = if failed { Part::Error } else { Part::Whole };
                self.heap.insert(key.into(), Value::Outcome(part, failed));
            } else {
                self.heap.remove(&*key);
            }
        }
    }

    fn channel(&self, of: Id) -> String {
        format!("<-{}", self.file.squeezed(of))
    }
}

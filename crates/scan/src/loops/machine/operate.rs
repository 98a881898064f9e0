//! The operation: what it gives where it fails, and where it goes well.

use super::super::candidate::changed_by;
use super::super::value::{Part, Value};
use super::super::words;
use super::{Cut, ENDLESS, Exit, Fate, Flow, Machine};
use crate::language::Language;
use crate::tree::{Arg, Id, Kind};

impl<'s> Machine<'_, '_, 's> {
    /// The operation itself.
    pub(super) fn operate(&mut self, id: Id, args: &'_ [Arg<'s>]) -> Flow<'s> {
        if self.looking_up > 0 {
            return Ok(Value::Unknown);
        }
        self.trace.calls += 1;
        self.called = self.steps;
        let counted = self.trace.counted || !self.trace.bounds.is_empty();
        let most = if counted { ENDLESS } else { super::ENDLESS_UNCOUNTED };
        if self.trace.calls >= most.min(self.plan.calls) {
            return self.cut(Cut::Endless);
        }
        // Counters among its arguments count.
        for arg in args {
            if matches!(self.tree.kind(arg.value), Kind::Step { .. }) {
                self.eval(arg.value)?;
            }
        }
        // `api((err, value) => …)`: the answer comes to a function.
        if let Some(callback) = args.iter().map(|arg| arg.value).find(|arg| self.takes_error(*arg))
        {
            let fail = self.failing();
            let error = if fail { Value::Outcome(Part::Error, true) } else { Value::Null };
            let frame = self.current;
            let answer = Value::Outcome(Part::Field, fail);
            self.invoke(callback, vec![(None, error), (None, answer)], frame)?;
            return Ok(Value::Unknown);
        }
        // `http.get(url, (response) => …)`: what failed has no answer, or a bad one.
        if self.plan.fate != Fate::Throws
            && let Some(callback) =
                args.iter().map(|arg| arg.value).find(|arg| self.takes_answer(*arg))
        {
            let answer = Value::Outcome(Part::Whole, self.failing());
            let frame = self.current;
            self.invoke(callback, vec![(None, answer)], frame)?;
            return Ok(Value::Unknown);
        }
        if self.told_object(args)? {
            return Ok(Value::Unknown);
        }
        // What it was lent says how it went.
        for name in changed_by(self.file, id) {
            self.assign_name(name, Value::Outcome(Part::Whole, self.failing()));
        }
        self.tell_channels(id);
        match self.plan.fate {
            Fate::Throws => Err(Exit::Throw),
            Fate::Bad | Fate::Said => Ok(Value::Outcome(Part::Whole, true)),
            Fate::Good => Ok(Value::Outcome(Part::Whole, false)),
        }
    }

    fn takes_error(&self, id: Id) -> bool {
        self.first_parameter(id).is_some_and(|name| words::any(name, &["err", "error", "e", "ex"]))
    }

    fn takes_answer(&self, id: Id) -> bool {
        matches!(self.file.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
            && self
                .first_parameter(id)
                .is_some_and(|name| words::any(name, &["res", "resp", "response", "reply"]))
    }

    /// The first parameter of a function that is written where it is handed over.
    fn first_parameter(&self, id: Id) -> Option<&'s str> {
        match self.tree.kind(id) {
            Kind::Function { params, name: None, .. } => params.first().map(|param| param.name),
            _ => None,
        }
    }
}

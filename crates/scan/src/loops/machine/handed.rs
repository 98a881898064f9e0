//! Objects with methods for what became of the operation: one of them is called.

use super::super::callbacks;
use super::super::value::{Part, Value};
use super::super::words;
use super::{Exit, Fate, Machine, seen};
use crate::tree::{Arg, Id, Kind};

/// Names of parameters that hold an answer.
const ANSWERS: &[&str] = &["resp", "response", "res", "result", "answer", "reply", "r", "value"];

impl<'s> Machine<'_, '_, 's> {
    /// Tells an object that was handed to the operation how it went; whether there is one.
    pub(super) fn told_object(&mut self, args: &'_ [Arg<'s>]) -> Result<bool, Exit<'s>> {
        let tree = self.tree;
        let object = args.iter().map(|arg| arg.value);
        let Some(object) = object.into_iter().find(|at| callbacks::on_failure(tree, *at).is_some())
        else {
            return Ok(false);
        };
        let failed = self.failing();
        let method = match self.plan.fate {
            Fate::Throws => callbacks::on_failure(tree, object),
            _ => callbacks::on_answer(tree, object),
        };
        // Go and Rust have no such objects, so that an answer without a method is no failure.
        let Some(method) = method else { return Ok(true) };
        let Kind::Function { params, .. } = tree.kind(method) else { return Ok(true) };
        if self.plan.fate == Fate::Throws {
            self.notice(seen::CAUGHT);
        }
        let given = params.iter().map(|param| {
            let value = match self.plan.fate {
                Fate::Throws if params.len() == 1 || words::any(param.name, ERRORS) => {
                    Value::Outcome(Part::Error, true)
                }
                Fate::Throws => Value::Unknown,
                _ if params.len() == 1 || words::any(param.name, ANSWERS) => {
                    Value::Outcome(Part::Whole, failed)
                }
                _ => Value::Unknown,
            };
            (Some(param.name), value)
        });
        let given = given.collect();
        let frame = self.current;
        self.invoke(method, given, frame)?;
        Ok(true)
    }

    /// Flags of an object that is handed to something unknown: whoever it is handed to may set them,
    /// as a strategy that is asked what to do about a failure does.
    pub(super) fn forget_flags(&mut self, id: Id, callee: Id, args: &'_ [Arg<'s>]) {
        if self.heap.is_empty() || !self.failing() || self.file.called(id, callee, args).pure {
            return;
        }
        for arg in args.iter().take(8) {
            let Kind::Name(name) = self.tree.kind(arg.value) else { continue };
            for (key, value) in &mut self.heap {
                let field = key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
                if field && matches!(value, Value::Bool(_)) {
                    *value = Value::Unknown;
                    self.trace.strategy = self.trace.strategy.or(Some(callee));
                }
            }
        }
    }

    /// The function that something handed over is, or has as the one that is run.
    pub(super) fn runs(&self, arg: Id) -> Option<Id> {
        callbacks::task(self.tree, arg)
    }
}

/// Names of parameters that hold what failed.
const ERRORS: &[&str] =
    &["e", "err", "error", "ex", "t", "throwable", "exception", "cause", "failure"];

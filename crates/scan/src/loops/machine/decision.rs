//! Which way to go where it cannot be told: the one that does not give up.

use super::super::value::{Truth, Value};
use super::super::words;
use super::{Exit, Fate, Machine};
use crate::tree::{Id, Kind, Op};

impl<'s> Machine<'_, '_, 's> {
    /// Which way a question goes.
    pub(super) fn decide(
        &mut self,
        id: Id,
        truth: Truth,
        then: Option<Id>,
        otherwise: Option<Id>,
        test: Option<Id>,
    ) -> bool {
        let about = match truth {
            Truth::Yes => return true,
            Truth::No => return false,
            Truth::Maybe(about) => about,
        };
        let mut yes = self.prefers(then, otherwise, about && self.plan.fate == Fate::Good);
        // `if handler.can_retry(error)`.
        if let Some(test) = test
            && about
            && self.failing()
            && self.asks_to_go_on(test)
        {
            yes = true;
        }
        if let Some(test) = test
            && !about
            && words::is_stop(self.tree.source(test))
            && then.is_some_and(|then| self.leaves(then))
        {
            yes = false;
        }
        if self.plan.flips.contains(&id) {
            yes = !yes;
        }
        if about {
            self.trace.about.insert(id);
        }
        if self.trace.undecided.len() < 64 && !self.trace.undecided.iter().any(|(at, _)| *at == id)
        {
            self.trace.undecided.push((id, yes));
        }
        yes
    }

    /// Whether a question is a call that asks whether another attempt makes sense.
    fn asks_to_go_on(&self, test: Id) -> bool {
        match self.tree.kind(test) {
            Kind::Await(of) => self.asks_to_go_on(*of),
            Kind::Call { callee, .. } => {
                self.tree.last_name(*callee).is_some_and(words::asks_for_another)
            }
            _ => false,
        }
    }

    /// `tries < (refused ? 1 : 5)`: as many as there may be, where it cannot be told which.
    pub(super) fn higher_limit(
        &mut self,
        id: Id,
        truth: Truth,
        then: Id,
        otherwise: Option<Id>,
    ) -> Result<Option<Value>, Exit<'s>> {
        let tree = self.tree;
        let plain =
            |id: Id| matches!(tree.kind(id), Kind::Number(_) | Kind::Name(_) | Kind::Field { .. });
        let compared = tree.parent(id).is_some_and(|up| {
            matches!(
                tree.kind(up),
                Kind::Binary { op: Op::Less | Op::AtMost | Op::Greater | Op::AtLeast, .. }
            )
        });
        let Some(otherwise) = otherwise.filter(|other| plain(*other)) else { return Ok(None) };
        if !compared || !plain(then) || !matches!(truth, Truth::Maybe(_)) {
            return Ok(None);
        }
        let (one, other) = (self.eval(then)?, self.eval(otherwise)?);
        Ok(match (one.num(), other.num()) {
            (Some(a), Some(b)) if a.symbol == 0 && b.symbol == 0 => {
                Some(Value::Num(if a.high > b.high { a } else { b }))
            }
            _ => None,
        })
    }

    /// Whether the first way is the better guess: the one that does not leave (after a success: the
    /// one that does), or the one in which something is called.
    pub(super) fn prefers(&self, then: Option<Id>, otherwise: Option<Id>, leaving: bool) -> bool {
        let out = |way: Option<Id>| way.is_some_and(|way| self.leaves(way));
        match (out(then), out(otherwise)) {
            (true, false) => leaving,
            (false, true) => !leaving,
            _ => {
                let calls = |way: Option<Id>| way.is_some_and(|way| self.has_operation(way));
                calls(then) || !calls(otherwise)
            }
        }
    }

    /// Whether a piece of code ends by leaving: its last statement raises, returns or breaks.
    pub(super) fn leaves(&self, id: Id) -> bool {
        match self.tree.kind(id) {
            Kind::Break { label: Some("switch"), .. } => false,
            Kind::Throw(_) | Kind::Break { .. } => true,
            Kind::Return(value) => {
                // `return again()` does not give up.
                !value.is_some_and(|value| self.goes_on(value))
            }
            Kind::Propagate(_) => false,
            // `await again(); return;` does not give up either.
            Kind::Block(all)
                if matches!(all[..], [.., before, last]
                    if matches!(self.tree.kind(last), Kind::Return(None))
                        && self.calls_itself(before)) =>
            {
                false
            }
            Kind::Block(all) => all.last().is_some_and(|last| self.leaves(*last)),
            Kind::If { then, otherwise: Some(otherwise), .. } => {
                self.leaves(*then) && self.leaves(*otherwise)
            }
            // `recoverable = false`.
            Kind::Assign { op: None, target, value } => {
                matches!(self.tree.kind(*value), Kind::Bool(false))
                    && self.tree.last_name(*target).is_some_and(|name| {
                        words::about_retry(name)
                            || words::any(name, &["recoverable", "transient", "again", "temporary"])
                    })
            }
            Kind::Await(of) => matches!(self.tree.kind(*of), Kind::Call { .. }) && self.leaves(*of),
            Kind::Call { callee, .. } => {
                if self.file.callee(id).is_some_and(|function| self.raises(function)) {
                    return true;
                }
                if let Some(path) = self.tree.path(*callee) {
                    return matches!(
                        path[..],
                        ["reject" | "panic" | "exit" | "bail!" | "panic!" | "bail"]
                            | [
                                "sys" | "os" | "process" | "Promise" | "System",
                                "exit" | "Exit" | "reject"
                            ]
                            | ["CompletableFuture", "failedFuture"]
                    );
                }
                false
            }
            Kind::Other(all) => matches!(all[..], [only] if self.leaves(only)),
            _ => false,
        }
    }

    /// Whether all that a function of this file does ends by raising: `fail(reason)`.
    fn raises(&self, function: Id) -> bool {
        let Kind::Function { body, .. } = self.tree.kind(function) else { return false };
        let last = match self.tree.kind(*body) {
            Kind::Block(all) => all.last().copied(),
            _ => Some(*body),
        };
        last.is_some_and(|last| matches!(self.tree.kind(last), Kind::Throw(_)))
    }

    /// Whether the function that calls itself is called, or the operation.
    pub(super) fn goes_on(&self, id: Id) -> bool {
        let tree = self.tree;
        self.has_operation(id)
            || self.plan.recursive.is_some_and(|function| {
                let name = self.file.function_name(function);
                tree.walk(id).any(|at| match tree.kind(at) {
                    Kind::Call { callee, .. } => tree.last_name(*callee) == name,
                    _ => false,
                })
            })
    }
}

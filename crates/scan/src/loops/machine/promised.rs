//! Promises that are kept under a name before anything is asked of them:
//! `const p = client.send(m); p.catch(again)`.

use super::super::value::{Part, Value};
use super::super::words::{ASKS, TOLD};
use super::{Exit, Machine};
use crate::language::Language;
use crate::tree::{Arg, Id, Kind};

impl<'s> Machine<'_, '_, 's> {
    /// Whether what a name is given is a promise: it does not fail where it is made.
    pub(super) fn is_promised(&self, target: Id, value: Id) -> bool {
        use Language as L;
        let tree = self.tree;
        let has_them = matches!(
            self.file.language,
            L::JavaScript | L::TypeScript | L::Tsx | L::Java | L::Kotlin | L::CSharp
        );
        let (Kind::Name(name), Kind::Call { .. }) = (tree.kind(target), tree.kind(value)) else {
            return false;
        };
        let is = |id: Id| matches!(tree.kind(id), Kind::Name(other) if other == name);
        let here = tree.function_of(value);
        let asked = |call: &Id| match tree.kind(*call) {
            Kind::Call { callee, args, .. } => {
                let of_it = match tree.kind(*callee) {
                    Kind::Field { of, .. } => is(*of),
                    _ => false,
                };
                (of_it || args.first().is_some_and(|arg| is(arg.value)))
                    && tree.function_of(*call) == here
            }
            _ => false,
        };
        has_them && ASKS.iter().chain(TOLD).any(|method| self.file.calls(method).iter().any(asked))
    }

    /// `Futures.addCallback(future, new FutureCallback<>() { … })`.
    pub(super) fn told_of_a_promise(
        &mut self,
        last: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<bool, Exit<'s>> {
        let ([promise, rest @ ..], true) = (args, TOLD.contains(&last)) else { return Ok(false) };
        match self.eval(promise.value) {
            Ok(Value::Rejected | Value::Outcome(Part::Whole, _)) | Err(Exit::Throw) => {
                self.told_object(rest)
            }
            Ok(_) => Ok(false),
            Err(exit) => Err(exit),
        }
    }
}

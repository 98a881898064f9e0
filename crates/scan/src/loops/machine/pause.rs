//! Functions that say how long to wait.

use super::super::pauses;
use super::super::value::Value;
use super::super::words;
use super::{Exit, Machine};
use crate::tree::{Arg, Id, Kind};

impl<'s> Machine<'_, '_, 's> {
    /// `backoff_delay(n)` of another file: what it gives for this attempt.
    pub(super) fn pause_elsewhere(
        &mut self,
        last: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        if args.is_empty() || !words::any(last, words::PAUSES) {
            return Ok(None);
        }
        let known = self.file.values().and_then(|values| values.pauses(last));
        let Some((arg, known)) = known.and_then(|all| Some((args.get(all.argument)?, all))) else {
            return Ok(None);
        };
        let value = self.eval(arg.value)?;
        let attempt = value.num().map(|num| num.low);
        Ok(attempt.and_then(|attempt| pauses::wait(known, attempt)).map(Value::Num))
    }

    /// `policy.delay(n)`: the one function of the file that is called so and says how long to wait.
    pub(super) fn tells_how_long(&self, call: Id, callee: Id) -> Option<Id> {
        let Kind::Field { name, .. } = self.tree.kind(callee) else { return None };
        let (true, [only]) = (words::any(name, words::PAUSES), self.file.functions(name)) else {
            return None;
        };
        (self.file.takes(*only, call) && !self.has_operation(*only)).then_some(*only)
    }
}

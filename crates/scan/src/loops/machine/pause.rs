//! Functions that say how long to wait.

use super::super::pauses;
use super::super::value::{Num, Value};
use super::super::words;
use super::{Exit, Machine};
use crate::tree::{Arg, Id, Kind};

/// How far a wait is spread by what is only known to spread it: no round number, so that the middle
/// is seen to be what it is spread around.
const ASIDE: f64 = 0.09173;

impl<'s> Machine<'_, '_, 's> {
    /// `backoff_delay(n)` of another file: what it gives for this attempt.
    pub(super) fn pause_elsewhere(
        &mut self,
        last: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        if words::any(last, &["jitter", "jittered", "jittering"]) {
            return self.spread_elsewhere(args);
        }
        if args.is_empty() || !words::any(last, words::PAUSES) {
            return Ok(None);
        }
        let known = self.file.values().and_then(|values| values.pauses(last));
        if let Some([least, most]) = known.and_then(|known| known.between) {
            let (Some(least), Some(most)) = (args.get(least), args.get(most)) else {
                return Ok(None);
            };
            let (least, most) = (self.eval(least.value)?.num(), self.eval(most.value)?.num());
            let both = least.zip(most);
            return Ok(both.map(|(least, most)| Value::Num(Num::between(least, most))));
        }
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

    /// `with_jitter(delay)` of another file: about that long.
    fn spread_elsewhere(&mut self, args: &'_ [Arg<'s>]) -> Result<Option<Value>, Exit<'s>> {
        let Some(first) = args.first() else { return Ok(None) };
        let value = self.eval(first.value)?;
        let Some(num) = value.num().filter(|num| !num.clock) else { return Ok(None) };
        if num.random || num.server {
            return Ok(Some(Value::Num(num)));
        }
        let about = |share: f64| num.map(|wait| wait * share);
        Ok(Some(Value::Num(Num::between(about(1.0 - ASIDE), about(1.0 + ASIDE)))))
    }

    /// Whether a call that is named as one that waits is kept as a number: `pause = delay(n)`.
    pub(super) fn is_kept(&self, call: Id, last: &str) -> bool {
        let named = words::words(last);
        let says_how_long = named.last().is_some_and(|word| {
            matches!(&**word, "delay" | "backoff" | "duration" | "interval" | "ms" | "seconds")
        });
        let sleeps = named.iter().any(|word| matches!(&**word, "sleep" | "wait"));
        says_how_long && !sleeps && self.becomes_a_number(call)
    }

    /// Whether what a call gives is given a name, is calculated with, or says how long to sleep.
    fn becomes_a_number(&self, call: Id) -> bool {
        let tree = self.tree;
        let mut inner = call;
        for up in tree.ancestors(call).take(6) {
            match tree.kind(up) {
                Kind::Let { value, .. } => return *value == Some(inner),
                Kind::Assign { value, .. } => return *value == inner,
                Kind::Binary { .. } => return true,
                Kind::Call { callee, args, .. } => {
                    let called = self.file.called(up, *callee, args);
                    let sleeps = called.sleep.is_some() || called.timer;
                    return sleeps && args.iter().any(|arg| arg.value == inner);
                }
                Kind::If { .. } | Kind::Match { .. } | Kind::Propagate(_) => {}
                Kind::Block(all) if all.last() == Some(&inner) => {}
                _ => return false,
            }
            inner = up;
        }
        false
    }

    /// The range that a name stands for in the same function: `let span = low..high;`.
    pub(super) fn range_of(&self, id: Id) -> Id {
        let tree = self.tree;
        let Kind::Name(name) = tree.kind(id) else { return id };
        let mut here =
            self.file.assigned(name).iter().filter_map(|place| match tree.kind(*place) {
                Kind::Let { value: Some(value), .. }
                    if tree.function_of(*place) == tree.function_of(id) =>
                {
                    Some(*value)
                }
                _ => None,
            });
        match (here.next(), here.next()) {
            (Some(value), None) if matches!(tree.kind(value), Kind::Range { .. }) => value,
            _ => id,
        }
    }

    /// `hint.unwrap_or_else(|| delay(n))` where there is none, `given.unwrap_or(3)` where it is not
    /// known.
    pub(super) fn or_else(
        &mut self,
        of: Id,
        name: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let made = matches!(name, "unwrap_or_else" | "getOrElse" | "orElseGet");
        let given = matches!(name, "unwrap_or" | "orElse" | "GetValueOrDefault");
        let [other] = args else { return Ok(None) };
        if !(made || given) || !matches!(self.tree.kind(of), Kind::Name(_) | Kind::Field { .. }) {
            return Ok(None);
        }
        let value = self.eval(of)?;
        if !matches!(value, Value::Null | Value::Unknown) {
            return Ok(None);
        }
        let instead = match self.eval(other.value)? {
            Value::Function(function, frame) if made => self.invoke(function, Vec::new(), frame)?,
            instead => instead,
        };
        if value == Value::Null {
            return Ok(Some(instead));
        }
        Ok(match instead {
            Value::Num(num) if num.symbol == 0 && !num.server => {
                let text = self.file.brief(of, 60);
                Some(self.symbol(text, Some(num)))
            }
            _ => None,
        })
    }
}

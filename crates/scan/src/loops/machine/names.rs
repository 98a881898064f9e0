//! Names and fields: what they are while the machine runs, and what was written before it began.

use super::super::value::{Num, Part, Value};
use super::super::words;
use super::{ENDLESS, Exit, Fate, Flow, Machine, Symbol, seen};
use crate::language::Language;
use crate::tree::{Id, Kind, Op};

/// Names of what the time of all attempts is held to.
const LIMITS_OF_TIME: &[&str] = &["timeout", "ttl", "deadline", "budget", "expiry", "expires"];

impl<'s> Machine<'_, '_, 's> {
    /// A name, a field, an element.
    pub(super) fn place(&mut self, id: Id) -> Flow<'s> {
        let tree = self.tree;
        match tree.kind(id) {
            Kind::Name(name) => Ok(self.name(id, name)),
            Kind::Field { of, name } => {
                if let Some(value) = self.constant(id) {
                    return Ok(value);
                }
                let key = self.file.key(id);
                if let Some(value) = self.heap.get(&*key) {
                    return Ok(value.clone());
                }
                if self.is_own(*of) {
                    if let Some(function) = self.property(id, name) {
                        return self.invoke(function, Vec::new(), 0);
                    }
                    let value = self.resolve(id, name, true);
                    self.heap.insert(key, value.clone());
                    return Ok(value);
                }
                let object = self.eval(*of)?;
                let answer = object.is_outcome()
                    || words::has(tree.source(*of), &["header", "resp", "err", "exception"]);
                if answer && is_retry_after(name) && object.num().is_none() {
                    return Ok(self.server_value(id));
                }
                Ok(self.member(id, *of, &object, name))
            }
            Kind::Index { of, at } => {
                if let Kind::Text(text) = tree.kind(*at)
                    && let Some(value) =
                        self.heap.get(&*format!("{}[{text}]", self.file.squeezed(*of)))
                {
                    return Ok(value.clone());
                }
                let list = self.eval(*of)?;
                let index = self.eval(*at)?;
                if let (Value::List(all), Some(index)) = (&list, index.num()) {
                    let len = all.len() as f64;
                    let at = if index.low < 0.0 { len + index.low } else { index.low };
                    if at >= 0.0 && at < len {
                        return Ok(all[at as usize].clone());
                    }
                    return Ok(Value::Null);
                }
                if let (Value::Unknown | Value::Num(_), Some(_)) = (&list, index.num())
                    && self.are_waits(*of)
                    && !tree.source(id).contains("?.")
                {
                    let length = self.symbol(self.file.brief(*of, 60), None).num();
                    return Ok(length.map_or(Value::Unknown, Self::one_of));
                }
                if let Value::Text(text) = &index
                    && is_retry_after(text)
                {
                    return Ok(self.server_value(id));
                }
                Ok(match (list, &index) {
                    // `answer["error"]`, as `answer.error`.
                    (Value::Outcome(Part::Whole | Part::Field, fail), Value::Text(key))
                        if words::about(key) == words::About::Error =>
                    {
                        self.part_of(Part::Whole, fail, key)
                    }
                    (Value::Outcome(_, fail), _) => Value::Outcome(Part::Field, fail),
                    _ => Value::Unknown,
                })
            }
            _ => Ok(Value::Unknown),
        }
    }

    fn member(&mut self, id: Id, of: Id, object: &Value, name: &'s str) -> Value {
        match object {
            Value::Outcome(part, fail) => self.part_of(*part, *fail, name),
            Value::Timer(num) if matches!(name, "C" | "Chan") => Value::Timer(*num),
            Value::Num(num) => self.number_member(*num, name).unwrap_or(Value::Num(*num)),
            Value::List(all) if matches!(name, "length" | "size" | "Length" | "Count") => {
                Value::number(all.len() as f64)
            }
            Value::Unknown => {
                if let Some(value) = self.told_field(id) {
                    return value;
                }
                if let Some(value) = self.entry_of(of, name) {
                    return value;
                }
                // A class of this file with a constant: `Settings.RETRIES`.
                if let Kind::Name(class) = self.tree.kind(of)
                    && class.starts_with(char::is_uppercase)
                {
                    let known = self.resolve(id, name, false);
                    if known != Value::Unknown {
                        return known;
                    }
                }
                // `settings.MAX_RETRIES` of a module.
                let known = match self.tree.kind(of) {
                    Kind::Name(module) if self.file.assigned(module).is_empty() => {
                        self.elsewhere(id)
                    }
                    _ => Value::Unknown,
                };
                let known = if known == Value::Unknown { self.filled_in(id, name) } else { known };
                if known == Value::Unknown { self.usually(id) } else { known }
            }
            _ => Value::Unknown,
        }
    }

    /// What a field or a method of the operation's result is.
    pub(super) fn part_of(&mut self, part: Part, fail: bool, name: &str) -> Value {
        use words::About;
        // A part of an answer that is not there is no failure: `cursor.is_none()`.
        if part == Part::Field && matches!(name, "is_none" | "is_some" | "isNone" | "isSome") {
            return Value::Outcome(Part::Field, fail);
        }
        match words::about(name) {
            About::Flag => Value::Outcome(Part::Flag, fail),
            About::BadFlag => {
                self.notice(super::seen::FLAG);
                Value::Bool(fail)
            }
            About::Status => Value::Outcome(Part::Status, fail),
            About::Error => {
                // A list of what was not done says by itself that something was not.
                if words::left_over(name) {
                    self.notice(super::seen::FLAG);
                }
                if fail { Value::Outcome(Part::Error, true) } else { Value::Null }
            }
            About::Doubt => {
                // Whether to try again is asked about what failed.
                if part == Part::Whole && words::about_retry(name) {
                    self.notice(super::seen::FLAG);
                }
                Value::Outcome(Part::Doubt, fail)
            }
            // `status().as_u16()`.
            About::Field if part == Part::Status => Value::Outcome(Part::Status, fail),
            About::Field if part == Part::Error => Value::Outcome(Part::Doubt, fail),
            About::Field => Value::Outcome(Part::Field, fail),
        }
    }

    fn name(&mut self, id: Id, name: &'s str) -> Value {
        let mut frame = Some(self.current);
        while let Some(at) = frame {
            if let Some(value) = self.frames[at].vars.get(name) {
                return value.clone();
            }
            frame = self.frames[at].parent;
        }
        if matches!(name, "self" | "this" | "super" | "base" | "_") {
            return Value::Unknown;
        }
        let value = self.resolve(id, name, false);
        // It is the same for the rest of the run.
        self.frames[0].vars.insert(name, value.clone());
        value
    }

    /// A new unknown, or the one that this text stands for already.
    pub(super) fn symbol(&mut self, text: String, usual: Option<Num>) -> Value {
        // A count that is never reached here would be taken for none.
        let usual = usual.filter(|usual| {
            usual.low < f64::from(ENDLESS)
                || usual.duration
                || words::any(&text, words::WAITS)
                || !(words::about_retry(&text) || words::any(&text, words::COUNTERS))
        });
        let at = match self.trace.symbols.iter().position(|known| known.text == text) {
            Some(at) => at,
            None => {
                let all = words::words(&text);
                let is = |list: &[&str]| all.iter().any(|word| list.contains(&&**word));
                let witness = match usual {
                    Some(usual) => usual.low,
                    None if is(&["cap", "max", "limit", "maximum"]) && is(words::WAITS) => 1e7,
                    // What all waits together are held to lasts longer than one of them.
                    None if is(LIMITS_OF_TIME) && !is(&["retry", "wait", "delay", "sleep"]) => {
                        // Of seconds, and of milliseconds where they are told apart.
                        if self.file.language == Language::Go { 6400.0 } else { 64.0 }
                    }
                    None if is(words::WAITS) => 8.0,
                    None => 4.0,
                };
                let usual = usual.map(|usual| usual.low);
                if self.trace.symbols.len() >= 1000 {
                    return Value::Unknown;
                }
                self.trace.symbols.push(Symbol { text, usual, witness });
                self.trace.symbols.len() - 1
            }
        };
        let symbol = &self.trace.symbols[at];
        // How long it usually waits stays as it is where it is asked what more attempts do.
        let moves = match symbol.usual {
            Some(_) => self.plan.defaults && !words::any(&symbol.text, words::PAUSES),
            None => true,
        };
        let bump = if moves { self.plan.bump } else { 0.0 };
        let mut num = Num::exact(symbol.witness + bump);
        num.duration = usual.is_some_and(|usual| usual.duration);
        num.symbol = u16::try_from(at + 1).unwrap_or(u16::MAX);
        num.open = symbol.usual.is_none();
        Value::Num(num)
    }

    /// A number for what is written here, also where nothing is known of it.
    pub(super) fn as_number(&mut self, id: Id, value: &Value) -> Option<Num> {
        if let Some(num) = value.num() {
            return Some(num);
        }
        if *value != Value::Unknown {
            return None;
        }
        let tree = self.tree;
        let named = match tree.kind(id) {
            Kind::Name(_) | Kind::Field { .. } | Kind::Call { .. } | Kind::Index { .. } => {
                self.file.brief(id, 60)
            }
            Kind::Await(of) => return self.as_number(*of, value),
            _ => return None,
        };
        if let Kind::Field { name, .. } = tree.kind(id)
            && super::counter::is_counted_up(self.file, self.plan, id, name)
        {
            let nought = Value::number(0.0);
            self.set(id, nought.clone()).ok()?;
            return nought.num();
        }
        let found = self.symbol(named, None);
        // A name keeps its witness, so that counting it down leads somewhere.
        if let Kind::Name(name) = tree.kind(id) {
            self.assign_name(name, found.clone());
        }
        found.num()
    }

    /// How long a server says to wait, in a run in which it does.
    pub(super) fn server_value(&mut self, id: Id) -> Value {
        if !self.plan.hints {
            return Value::Null;
        }
        let text = self.file.brief(id, 60);
        match self.symbol(text, None) {
            Value::Num(mut num) => {
                num.server = true;
                Value::Num(num)
            }
            other => other,
        }
    }

    pub(super) fn is_own(&self, id: Id) -> bool {
        match self.tree.kind(id) {
            Kind::Name(name) => {
                matches!(*name, "self" | "this" | "cls" | "Self" | "$this")
                    || (self.file.language == Language::Go
                        && name.len() <= 2
                        && self.is_receiver(id, name))
            }
            _ => false,
        }
    }

    fn is_receiver(&self, id: Id, name: &str) -> bool {
        // A receiver is declared by no statement and no parameter.
        self.tree.function_of(id).is_some_and(|function| match self.tree.kind(function) {
            Kind::Function { params, .. } => params.iter().all(|param| param.name != name),
            _ => false,
        }) && self.file.assigned(name).is_empty()
    }

    /// Sets what an assignment names.
    pub(super) fn set(&mut self, target: Id, value: Value) -> Result<(), Exit<'s>> {
        let tree = self.tree;
        match tree.kind(target) {
            Kind::Name(name) => self.assign_name(name, value),
            Kind::Field { .. } => {
                let key = self.file.key(target);
                self.heap.insert(key, value);
            }
            Kind::Index { of, at } => {
                if let Kind::Text(text) = tree.kind(*at) {
                    let key = format!("{}[{text}]", self.file.squeezed(*of));
                    self.heap.insert(key.into(), value);
                }
            }
            Kind::List(all) | Kind::Other(all) => self.spread(all, &value)?,
            Kind::Let { target, .. } => self.set(*target, value)?,
            Kind::Record { entries, .. } => {
                for entry in entries {
                    let part = match (&value, &entry.key) {
                        (Value::Outcome(part, fail), Some(key)) => self.part_of(*part, *fail, key),
                        _ => Value::Unknown,
                    };
                    self.set(entry.value, part)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `a, err = f()`: the last one of Go is the error, of others each gets its own.
    fn spread(&mut self, all: &'_ [Id], value: &Value) -> Result<(), Exit<'s>> {
        for (at, one) in all.iter().enumerate() {
            let name = self.tree.last_name(*one).unwrap_or_default();
            let part = match value {
                Value::List(values) => values.get(at).cloned().unwrap_or(Value::Unknown),
                // `n, err := strconv.Atoi(header)`: it can be read.
                Value::Num(num) if num.server && at == 0 => value.clone(),
                Value::Num(num) if num.server => match words::any(name, &["ok"]) {
                    true => Value::Bool(true),
                    false => Value::Null,
                },
                Value::Outcome(part, fail) => {
                    self.slot(name, *part, *fail, all.len() > 1 && at + 1 == all.len())
                }
                // `busy, ok := err.(*Busy)` where there is no error.
                Value::Null if self.file.language == Language::Go => {
                    match words::any(name, &["ok"]) {
                        true => Value::Bool(false),
                        false => Value::Null,
                    }
                }
                _ => Value::Unknown,
            };
            self.set(*one, part)?;
        }
        Ok(())
    }

    /// What of a result a name holds.
    pub(super) fn slot(&mut self, name: &str, part: Part, fail: bool, last: bool) -> Value {
        let all = words::words(name);
        let is = |list: &[&str]| all.iter().any(|word| list.contains(&&**word));
        let go = self.file.language == Language::Go;
        let named = is(&["err", "error", "errs", "errors", "exception"]) || name.starts_with("err");
        // `again, err := f()`: whether another attempt makes sense.
        if matches!(part, Part::Whole | Part::Field) && self.asks_for_another(name) {
            self.notice(seen::FLAG);
            return Value::Outcome(Part::Doubt, fail);
        }
        if named && part == Part::Field {
            // The error of something else that was done with the result.
            return Value::Unknown;
        }
        // It went well; that it did not is said in the answer.
        let fails = fail && !(go && self.plan.fate == Fate::Said);
        if named {
            return if fails { Value::Outcome(Part::Error, true) } else { Value::Null };
        }
        if is(&["ok", "success", "succeeded", "done", "found"]) && part != Part::Status {
            return match part {
                Part::Field => Value::Unknown,
                // `limited, ok := err.(*RateLimited)`: which error it is.
                Part::Error => Value::Outcome(Part::Doubt, fail),
                // `v, ok := m.get(k)`: it is not there, which is no failure.
                _ if go && is(&["ok", "found"]) => Value::Outcome(Part::Whole, fail),
                _ => Value::Outcome(Part::Flag, fail),
            };
        }
        if go
            && part == Part::Whole
            && last
            && name != "_"
            && all.len() == 1
            && name.len() <= 3
            && name.contains('e')
        {
            return if fails { Value::Outcome(Part::Error, true) } else { Value::Null };
        }
        Value::Outcome(part, fail)
    }

    /// Whether a name says that another attempt makes sense. What goes on is more often a walk, so
    /// that the function has to speak of attempts then.
    fn asks_for_another(&self, name: &str) -> bool {
        let goes_on = words::any(name, &["continue", "cont"]);
        let says_so = || {
            let function = self.tree.function_of(self.plan.entry).or(self.plan.recursive);
            function.is_some_and(|function| words::about_retry(self.tree.source(function)))
        };
        words::asks_for_another(name) && (!goes_on || says_so())
    }

    pub(super) fn assign_name(&mut self, name: &'s str, value: Value) {
        let mut frame = Some(self.current);
        while let Some(at) = frame {
            if let Some(place) = self.frames[at].vars.get_mut(name) {
                *place = value;
                return;
            }
            frame = self.frames[at].parent;
        }
        // In Python and Ruby an assignment declares; elsewhere the name is from outside.
        let own = matches!(self.file.language, Language::Python | Language::Ruby | Language::Php);
        let at = if own { self.current } else { 0 };
        self.frames[at].vars.insert(name, value);
    }

    pub(super) fn set_here(&mut self, name: &'s str, value: Value) {
        let at = self.current;
        self.frames[at].vars.insert(name, value);
    }

    /// What a name is now, without looking at what was written before.
    pub(super) fn current(&self, target: Id) -> Option<Value> {
        match self.tree.kind(target) {
            Kind::Name(name) => {
                let mut frame = Some(self.current);
                while let Some(at) = frame {
                    if let Some(value) = self.frames[at].vars.get(name) {
                        return Some(value.clone());
                    }
                    frame = self.frames[at].parent;
                }
                None
            }
            Kind::Field { .. } => self.heap.get(&*self.file.key(target)).cloned(),
            _ => None,
        }
    }

    pub(super) fn declare(
        &mut self,
        _id: Id,
        target: Id,
        value: Option<Id>,
        ty: Option<&'s str>,
    ) -> Flow<'s> {
        let found = match value {
            Some(value) => self.given(target, value)?,
            None => match ty {
                Some(ty) if words::has(ty, &["int", "float", "long", "double", "number"]) => {
                    Value::number(0.0)
                }
                Some(ty) if words::has(ty, &["bool"]) => Value::Bool(false),
                _ => Value::Null,
            },
        };
        let stored = self.renamed(target, found.clone());
        match self.tree.kind(target) {
            Kind::Name(name) => self.set_here(name, stored),
            _ => self.set(target, stored)?,
        }
        Ok(found)
    }

    /// What a target is given. `x, ok := f().(T)` asks about the type, not about the call.
    fn given(&mut self, target: Id, value: Id) -> Flow<'s> {
        let found = match self.eval(value) {
            Err(Exit::Throw) if self.is_promised(target, value) => Value::Rejected,
            found => found?,
        };
        let other = matches!(self.tree.kind(target), Kind::List(_))
            && matches!(
                self.tree.kind(value),
                Kind::Other(_) | Kind::Index { .. } | Kind::Binary { .. }
            );
        Ok(match found {
            Value::Outcome(Part::Whole, fail) if other => Value::Outcome(Part::Field, fail),
            // Nothing is of no type: `busy, ok := err.(*Busy)`.
            Value::Unknown if other && self.is_nothing(value) => Value::Null,
            found => self.counted_down(value, found),
        })
    }

    /// `left := timeout`: a limit of which nothing is known is a number that is counted down.
    pub(super) fn counted_down(&mut self, id: Id, value: Value) -> Value {
        let limit = self.tree.last_name(id).is_some_and(|name| words::any(name, LIMITS_OF_TIME));
        if value != Value::Unknown || !limit {
            return value;
        }
        self.as_number(id, &value).map_or(value, Value::Num)
    }

    /// Whether the name that a type is asked of holds nothing.
    fn is_nothing(&self, value: Id) -> bool {
        match self.tree.kind(value) {
            Kind::Other(all) => {
                all.first().is_some_and(|first| self.current(*first) == Some(Value::Null))
            }
            _ => false,
        }
    }

    /// A result that is kept under a name that says which part of it it is.
    fn renamed(&mut self, target: Id, value: Value) -> Value {
        match (&value, self.tree.kind(target)) {
            (Value::Outcome(part, fail), Kind::Name(name) | Kind::Field { name, .. })
                if matches!(part, Part::Whole | Part::Field) =>
            {
                self.slot(name, *part, *fail, false)
            }
            _ => value,
        }
    }

    pub(super) fn assign(&mut self, id: Id, op: Option<Op>, target: Id, value: Id) -> Flow<'s> {
        self.tell(id);
        let Some(op) = op else {
            let mut found = self.given(target, value)?;
            if let Value::Num(num) = &mut found
                && num.symbol == 0
                && self.limits(id, target, value)
            {
                num.cap = num.high;
            }
            let stored = self.renamed(target, found.clone());
            self.set(target, stored)?;
            return Ok(found);
        };
        if matches!(op, Op::Or | Op::Else) {
            if let Some(now) = self.current(target)
                && !matches!(now, Value::Null | Value::Bool(false))
            {
                return Ok(now);
            }
            let found = self.eval(value)?;
            self.set(target, found.clone())?;
            return Ok(found);
        }
        let result = self.binary(id, op, target, value)?;
        self.set(target, result.clone())?;
        Ok(result)
    }

    /// `if delay > most { delay = most }`.
    fn limits(&self, assign: Id, target: Id, value: Id) -> bool {
        let tree = self.tree;
        let test = tree.ancestors(assign).take(2).find_map(|up| match tree.kind(up) {
            Kind::If { test, .. } => Some(*test),
            _ => None,
        });
        test.is_some_and(|test| match tree.kind(test) {
            Kind::Binary { op: Op::Greater | Op::AtLeast, left, right } => {
                tree.source(*left) == tree.source(target)
                    && tree.source(*right) == tree.source(value)
            }
            _ => false,
        })
    }

    pub(super) fn step(&mut self, of: Id, by: f64, before: bool) -> Flow<'s> {
        let old = self.eval(of)?;
        let Some(old) = self.as_number(of, &old) else { return Ok(Value::Unknown) };
        let new = old.add(Num::exact(by));
        self.set(of, Value::Num(new))?;
        Ok(Value::Num(if before { new } else { old }))
    }
}

/// Whether a text names the header with the server's wish.
pub(super) fn is_retry_after(text: &str) -> bool {
    words::has(
        text,
        &[
            "retry-after",
            "retry_after",
            "retryafter",
            "ratelimit-reset",
            "rate-limit-reset",
            "rl-reset",
        ],
    )
}

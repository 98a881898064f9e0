//! Calls: waits, promises, functions of the file, and everything else.

use super::super::value::{Num, Part, Value};
use super::super::words::{self, Sleep};
use super::names::is_retry_after;
use super::{Cut, Exit, Fate, Flow, Frame, Machine, seen};
use crate::language::Language;
use crate::tree::{Arg, Id, Kind, Op};

/// Functions of the file are followed so deep, unless they are the one that calls itself.
const DEEPEST_CALLS: u32 = 64;

impl<'s> Machine<'_, '_, 's> {
    pub(super) fn call(&mut self, id: Id) -> Flow<'s> {
        let tree = self.tree;
        let Kind::Call { callee, args, new } = tree.kind(id) else { return Ok(Value::Unknown) };
        if self.plan.ops.contains(&id) {
            return self.operate(id, args);
        }
        self.tell(id);
        let last = tree.last_name(*callee).unwrap_or_default();
        if let Kind::Field { of, name } = tree.kind(*callee)
            && let Some(result) = self.chained(*of, name, args)?
        {
            return Ok(result);
        }
        if let Kind::Field { of, name: "find_map" | "any" | "find" | "some" } = tree.kind(*callee)
            && let [only] = &args[..]
            && matches!(tree.kind(*of), Kind::Range { .. })
        {
            return self.until_found(*of, only.value);
        }
        if let Kind::Field { of, name: "reduce" } = tree.kind(*callee)
            && let Some(result) = self.folded(*of, args)?
        {
            return Ok(result);
        }
        if self.told_of_a_promise(last, args)? {
            return Ok(Value::Unknown);
        }
        let called = self.file.called(id, *callee, args);
        if *new && last == "Promise" {
            return self.promise(args);
        }
        if called.schedules
            && let Some(result) = self.scheduled(id, last, args)?
        {
            return Ok(result);
        }
        if let Kind::Field { of, name: "Reset" } = tree.kind(*callee)
            && matches!(self.eval(*of)?, Value::Timer(_))
            && let Some(ms) = self.first_number(args)?
        {
            let ms = self.in_ms(ms, Sleep::Nanos);
            self.set(*of, Value::Timer(ms))?;
            return Ok(Value::Unknown);
        }
        if called.timer {
            let ms = self.first_number(args)?;
            let ms = ms.map_or(Num::exact(0.0), |num| self.in_ms(num, Sleep::Nanos));
            return Ok(Value::Timer(ms));
        }
        let sleep = called.sleep.filter(|how| *how != Sleep::Named || !self.is_kept(id, last));
        let own =
            called.own.or_else(|| self.tells_how_long(id, *callee).filter(|_| sleep.is_none()));
        if let Some(function) = own {
            let waits = self.trace.waits.len();
            let values = self.values_of(args)?;
            let value = self.invoke(function, values, 0)?;
            if sleep.is_some() && self.trace.waits.len() == waits {
                self.sleeps(id, Sleep::Named, args)?;
            }
            // A header is read in more ways than are followed.
            if value == Value::Unknown && is_retry_after(last) {
                return Ok(self.server_value(id));
            }
            return Ok(value);
        }
        if let Some(how) = sleep {
            if self.is_future(id, &called.path) {
                let before = self.trace.waits.len();
                self.sleeps(id, how, args)?;
                let waited = self.trace.waits.drain(before..).next_back();
                return Ok(waited.map_or(Value::Unknown, |wait| Value::Timer(wait.ms)));
            }
            // `Atomics.wait(shared, 0, 0, ms)`: until it is told, which nobody does.
            let how_long =
                if called.path[..] == ["Atomics", "wait"] { args.len().min(3) } else { 0 };
            self.sleeps(id, how, &args[how_long..])?;
            return Ok(Value::Unknown);
        }
        // A function that is called where it is written: `go func() { … }()`.
        if matches!(tree.kind(*callee), Kind::Function { .. })
            && let Value::Function(function, frame) = self.eval(*callee)?
        {
            let values = self.values_of(args)?;
            return self.invoke(function, values, frame);
        }
        if called.waits {
            self.sleeps(id, Sleep::Named, args)?;
            return Ok(Value::Unknown);
        }
        // A closure that a name holds.
        if let Kind::Name(name) = tree.kind(*callee)
            && let Some(Value::Function(function, frame)) = self.known(name)
        {
            let values = self.values_of(args)?;
            return self.invoke(function, values, frame);
        }
        if let Kind::Field { of, name: "apply" | "call" | "invoke" | "Invoke" | "run" | "get" } =
            tree.kind(*callee)
            && let Kind::Name(name) = tree.kind(*of)
            && let Some(Value::Function(function, frame)) = self.known(name)
        {
            return self.invoke(function, Vec::new(), frame);
        }
        if let Some(value) = self.compares_times(*callee, args)? {
            return Ok(value);
        }
        if let Some(value) = self.dictionary(last, *callee, args)? {
            return Ok(value);
        }
        if let Some(value) = self.builtin(&called, *callee, args)? {
            return Ok(value);
        }
        if let Some(wait) = self.pause_elsewhere(last, args)? {
            return Ok(wait);
        }
        if let Some(usual) = self.usual_of_getter(id) {
            let text = self.file.brief(id, 60);
            return Ok(self.symbol(text, Some(usual)));
        }
        self.other(id, *callee, args)
    }

    /// Whether a call of Rust only makes a future that waits later: `let pause = sleep(wait);`.
    fn is_future(&self, id: Id, path: &[&str]) -> bool {
        self.file.language == Language::Rust
            && !path.contains(&"thread")
            && self.tree.function_of(id).is_some_and(|function| {
                matches!(self.tree.kind(function), Kind::Function { is_async: true, .. })
            })
            && self
                .tree
                .parent(id)
                .is_some_and(|up| matches!(self.tree.kind(up), Kind::Let { value: Some(_), .. }))
    }

    /// `now.After(deadline)`, `Instant.now().isBefore(end)`.
    fn compares_times(
        &mut self,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let Kind::Field { of, name } = self.tree.kind(callee) else { return Ok(None) };
        let (op, [other]) = (
            match *name {
                "After" | "isAfter" | "is_after" => Op::Greater,
                "Before" | "isBefore" | "is_before" => Op::Less,
                _ => return Ok(None),
            },
            args,
        ) else {
            return Ok(None);
        };
        let (one, two) = (self.eval(*of)?, self.eval(other.value)?);
        if !one.num().or(two.num()).is_some_and(|num| num.clock) {
            return Ok(None);
        }
        let (Some(one), Some(two)) = (self.as_number(*of, &one), self.as_number(other.value, &two))
        else {
            return Ok(None);
        };
        Ok(Some(self.ordered(op, one, two).value()))
    }

    /// `options.pop("count", 4)`, `options.update({"count": n})`: what was put into it under a key.
    fn dictionary(
        &mut self,
        last: &str,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let tree = self.tree;
        let Kind::Field { of, .. } = tree.kind(callee) else { return Ok(None) };
        match (last, args) {
            ("pop" | "get" | "setdefault" | "fetch", [key, default]) => {
                let Kind::Text(text) = tree.kind(key.value) else { return Ok(None) };
                if is_retry_after(text) {
                    return Ok(None);
                }
                let key = format!("{}[{text}]", self.file.squeezed(*of));
                if let Some(value) = self.heap.get(&*key) {
                    return Ok(Some(value.clone()));
                }
                let value = self.eval(default.value)?;
                Ok(match value {
                    Value::Num(num) if num.symbol == 0 => Some(self.symbol(key, Some(num))),
                    Value::Num(_) => Some(value),
                    _ => None,
                })
            }
            ("update", [only]) => {
                let Kind::Record { entries, .. } = tree.kind(only.value) else { return Ok(None) };
                for entry in entries.iter().take(64) {
                    let value = self.eval(entry.value)?;
                    if let Some(name) = &entry.key {
                        let key = format!("{}[{name}]", self.file.squeezed(*of));
                        self.heap.insert(key.into(), value);
                    }
                }
                Ok(Some(Value::Unknown))
            }
            _ => Ok(None),
        }
    }

    fn known(&self, name: &str) -> Option<Value> {
        let mut frame = Some(self.current);
        while let Some(at) = frame {
            if let Some(value) = self.frames[at].vars.get(name) {
                return Some(value.clone());
            }
            frame = self.frames[at].parent;
        }
        None
    }

    /// Calls a function of the tree.
    pub(super) fn invoke(
        &mut self,
        function: Id,
        args: Vec<(Option<&'s str>, Value)>,
        parent: usize,
    ) -> Flow<'s>
    where
        Self: Sized,
    {
        let tree = self.tree;
        let Kind::Function { params, body, .. } = tree.kind(function) else {
            return Ok(Value::Unknown);
        };
        let again = self.active.iter().filter(|active| **active == function).count();
        let most = if self.plan.recursive.is_some() { DEEPEST_CALLS } else { 4 };
        if self.calls_deep >= most || (again > 0 && self.plan.recursive.is_none()) {
            return if self.plan.recursive.is_some() {
                self.cut(Cut::Depth)
            } else {
                Ok(Value::Unknown)
            };
        }
        if self.frames.len() > 20_000 {
            return self.cut(Cut::Steps);
        }
        let mut frame = Frame { vars: Default::default(), parent: Some(parent) };
        let mut positional = 0;
        for (name, value) in args {
            let param = match name {
                Some(name) => params.iter().find(|param| param.name == name),
                None => {
                    positional += 1;
                    params.get(positional - 1)
                }
            };
            if let Some(param) = param
                && value != Value::Unknown
            {
                frame.vars.insert(param.name, value);
            }
        }
        for param in params {
            if !frame.vars.contains_key(param.name) {
                let value = match param.default {
                    Some(default) => self.usual(param.name.to_owned(), default),
                    None => Value::Unknown,
                };
                frame.vars.insert(param.name, value);
            }
        }
        let before = self.current;
        self.frames.push(frame);
        self.current = self.frames.len() - 1;
        self.calls_deep += 1;
        self.active.push(function);
        let end = self.eval(*body);
        self.active.pop();
        self.calls_deep -= 1;
        self.current = before;
        match end {
            Ok(value) | Err(Exit::Return(value)) => Ok(value),
            Err(exit @ (Exit::Throw | Exit::Cut)) => Err(exit),
            Err(_) => Ok(Value::Unknown),
        }
    }

    pub(super) fn arguments_of(
        &mut self,
        call: Id,
    ) -> Result<Vec<(Option<&'s str>, Value)>, Exit<'s>> {
        match self.tree.kind(call) {
            Kind::Call { args, .. } => self.values_of(args),
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn values_of(
        &mut self,
        args: &'_ [Arg<'s>],
    ) -> Result<Vec<(Option<&'s str>, Value)>, Exit<'s>> {
        let mut out = Vec::with_capacity(args.len().min(32));
        for arg in args.iter().take(64) {
            let mut value = self.eval(arg.value)?;
            if value == Value::Unknown
                && let Kind::Name(name) = self.tree.kind(arg.value)
                && words::any(name, words::WAITS)
            {
                value = self.as_number(arg.value, &value).map_or(Value::Unknown, Value::Num);
            }
            out.push((arg.name, value));
        }
        Ok(out)
    }

    /// A call of something that is not known: functions among its arguments are run, for that is
    /// why they are given.
    fn other(&mut self, id: Id, callee: Id, args: &'_ [Arg<'s>]) -> Flow<'s> {
        let tree = self.tree;
        let mut outcome: Option<(Part, bool)> = None;
        // What is made of what a server said is still that.
        let mut said: Option<Num> = None;
        if let Kind::Field { of, name } = tree.kind(callee) {
            let object = self.eval(*of)?;
            // `answer.get("error")`, as `answer.error`.
            if let ("get" | "Get" | "getString", Value::Outcome(Part::Whole | Part::Field, fail)) =
                (*name, &object)
                && let Some(Kind::Text(key)) = args.first().map(|arg| tree.kind(arg.value))
                && words::about(key) == words::About::Error
            {
                return Ok(self.part_of(Part::Whole, *fail, key));
            }
            if let Some(empty) = asks_whether_empty(name)
                && let Some(errors) = self.errors_in(*of, &object)
            {
                self.notice(seen::ERROR);
                return Ok(Value::Bool(errors != empty));
            }
            // `resp.errors.filter(|all| !all.is_empty())`: the errors, if there are any.
            let kept = matches!(*name, "filter" | "as_ref" | "as_deref" | "cloned" | "as_mut");
            if kept && matches!(object, Value::Outcome(Part::Error, _) | Value::Null) {
                return Ok(object);
            }
            match object {
                Value::Outcome(part, fail) => {
                    outcome = Some((part, fail));
                    let chain = matches!(self.file.language, Language::Go | Language::Rust)
                        && part == Part::Whole
                        && words::about(name) == words::About::Field;
                    if chain {
                        // A step further of the same call: `client.get().send()`.
                        outcome = Some((part, fail));
                    } else if let Value::Outcome(part, fail) = self.part_of(part, fail, name) {
                        outcome = Some((part, fail));
                    } else if words::left_over(name) {
                        return Ok(Value::Null);
                    } else if name.starts_with("is_") || name.starts_with("is") {
                        return Ok(self.part_of(part, fail, name));
                    }
                }
                Value::Rejected => return Ok(Value::Rejected),
                Value::Num(num) if num.server => said = Some(num),
                _ => {}
            }
            if matches!(
                *name,
                "ok" | "await" | "unwrap" | "expect" | "get" | "join" | "block" | "result"
            ) && outcome == Some((Part::Whole, true))
                && args.is_empty()
                && matches!(*name, "unwrap" | "expect")
            {
                return Err(Exit::Throw);
            }
            if matches!(
                *name,
                "ok" | "await" | "blockingGet" | "into" | "map_err" | "with_context" | "context"
            ) && let Some((Part::Flag, fail)) = outcome
                && self.file.language == Language::Rust
            {
                return Ok(Value::Outcome(Part::Whole, fail));
            }
        }
        if let Some(value) = self.retry_after(id, args)? {
            return Ok(value);
        }
        if let Some(value) = self.in_range(callee, args)? {
            return Ok(value);
        }
        let asks = tree.last_name(callee).map_or(words::About::Field, words::about);
        for arg in args.iter().take(64) {
            let value = self.eval(arg.value)?;
            match value {
                Value::Outcome(part, fail) if outcome.is_none() => {
                    if part == Part::Error
                        && matches!(asks, words::About::Doubt | words::About::BadFlag)
                    {
                        self.notice(seen::ERROR);
                    }
                    // `should_retry(response)`.
                    if part == Part::Whole
                        && asks == words::About::Doubt
                        && words::about_retry(tree.last_name(callee).unwrap_or_default())
                    {
                        self.notice(seen::FLAG);
                    }
                    outcome = Some(match asks {
                        words::About::Flag => (Part::Flag, fail),
                        words::About::Status => (Part::Status, fail),
                        words::About::Doubt | words::About::BadFlag | words::About::Error => {
                            (Part::Doubt, fail)
                        }
                        words::About::Field => {
                            let part = match value {
                                Value::Outcome(Part::Error, _) => Part::Doubt,
                                _ => Part::Field,
                            };
                            (part, fail)
                        }
                    });
                }
                Value::Rejected => return Err(Exit::Throw),
                Value::Num(num) if num.server => said = said.or(Some(num)),
                // There is no error, so it is none of any kind.
                Value::Null
                    if matches!(asks, words::About::Doubt | words::About::BadFlag)
                        && self.plan.fate == Fate::Good
                        && matches!(tree.kind(arg.value), Kind::Name(_)) =>
                {
                    return Ok(Value::Bool(false));
                }
                Value::Function(function, frame)
                    if matches!(tree.kind(arg.value), Kind::Function { .. })
                        && !words::has(
                            tree.source(callee),
                            &["finally", "on_exit", "addEventListener"],
                        ) =>
                {
                    let value = self.invoke(function, Vec::new(), frame)?;
                    if value.is_outcome() && outcome.is_none() {
                        if value == Value::Rejected {
                            return Ok(value);
                        }
                        if let Value::Outcome(part, fail) = value {
                            outcome = Some((part, fail));
                        }
                    }
                }
                _ => {}
            }
        }
        self.forget_flags(id, callee, args);
        Ok(match (outcome, said) {
            (_, Some(num)) => Value::Num(num),
            (Some((part, fail)), None) => Value::Outcome(part, fail),
            (None, None) => Value::Unknown,
        })
    }

    /// `(500..600).contains(&status)`, `RETRY_CODES.includes(status)`.
    fn in_range(&mut self, callee: Id, args: &'_ [Arg<'s>]) -> Result<Option<Value>, Exit<'s>> {
        let Kind::Field { of, name } = self.tree.kind(callee) else { return Ok(None) };
        let codes = match self.tree.kind(*of) {
            Kind::Range { .. } => true,
            _ => self.tree.last_name(*of).is_some_and(|list| {
                words::about_retry(list) && words::has(list, &["code", "status"])
            }),
        };
        let asks = matches!(*name, "contains" | "includes" | "has" | "Contains");
        let [code] = args else { return Ok(None) };
        if !(codes && asks) {
            return Ok(None);
        }
        Ok(match self.eval(code.value)? {
            Value::Outcome(Part::Status, fail) => {
                let holds = self.status(Op::In, fail, code.value, *of, &Value::Unknown);
                Some(holds.value())
            }
            _ => None,
        })
    }

    /// Whether there are errors in a list of them that the operation gave: `failed, errors = send()`.
    fn errors_in(&self, of: Id, list: &Value) -> Option<bool> {
        // `answer.unprocessedItems()`, as `answer.errors`.
        let name = match self.tree.kind(of) {
            Kind::Call { callee, .. } => self.tree.last_name(*callee)?,
            _ => self.tree.last_name(of)?,
        };
        match list {
            _ if !(words::any(name, &["errors", "errs"]) || words::left_over(name)) => None,
            Value::Outcome(Part::Error, fail) => Some(*fail),
            Value::Null => Some(false),
            _ => None,
        }
    }

    /// `headers.get("Retry-After", 5)`: the server says how long.
    fn retry_after(&mut self, id: Id, args: &'_ [Arg<'s>]) -> Result<Option<Value>, Exit<'s>> {
        let named = args.iter().any(|arg| match self.tree.kind(arg.value) {
            Kind::Text(text) => is_retry_after(text),
            Kind::Field { name, .. } => is_retry_after(name),
            _ => false,
        });
        let callee = match self.tree.kind(id) {
            Kind::Call { callee, .. } => self.tree.last_name(*callee).unwrap_or_default(),
            _ => "",
        };
        if !named && !is_retry_after(callee) {
            return Ok(None);
        }
        if let Some(default) = args.get(1).filter(|_| named)
            && let Some(mut num) = self.eval(default.value)?.num()
            // Nought is for where it says nothing.
            && !(self.plan.hints && num.high == 0.0)
        {
            num.server = self.plan.hints;
            return Ok(Some(Value::Num(num)));
        }
        Ok(Some(self.server_value(id)))
    }

    /// Whether an operand asks about a match, for the languages that write it as a call.
    pub(super) fn is_match_macro(&self, callee: Id) -> bool {
        self.tree.last_name(callee).is_some_and(|name| name.trim_end_matches('!') == "matches")
    }

    pub(super) fn match_macro(&mut self, args: &'_ [Arg<'s>]) -> Result<Option<Value>, Exit<'s>> {
        let [value, pattern, ..] = args else { return Ok(None) };
        let found = self.eval(value.value)?;
        let fits = self.matches(value.value, &found, pattern.value)?;
        Ok(Some(fits.value()))
    }
}

/// What a call asks of a list: that it is empty, or that it is not.
fn asks_whether_empty(name: &str) -> Option<bool> {
    match name {
        "isEmpty" | "is_empty" | "IsEmpty" | "None" | "none" => Some(true),
        "Any" | "any" | "isNotEmpty" => Some(false),
        _ => None,
    }
}

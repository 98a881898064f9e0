//! What happens later: promises, timers, functions that are given away.

use super::super::value::{Num, Part, Truth, Value};
use super::super::words::{self, Sleep};
use super::{ENDLESS, Exit, Flow, Machine, Wait, seen};
use crate::language::Language;
use crate::tree::{Arg, Entry, Id, Kind};

impl<'s> Machine<'_, '_, 's> {
    /// `p.then(f)`, `p.catch(f)` and their kin.
    pub(super) fn chained(
        &mut self,
        of: Id,
        name: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        if let Some(value) = self.or_else(of, name, args)? {
            return Ok(Some(value));
        }
        let (good, bad) = match name {
            "then" => (args.first(), args.get(1)),
            "catch"
            | "exceptionally"
            | "exceptionallyCompose"
            | "onErrorResume"
            | "or_else"
            | "unwrap_or_else"
            | "onErrorResumeNext"
            | "catchError"
            | "rescue"
            | "getOrElse"
            | "recover"
            | "recoverWith"
            | "onFailure" => (None, args.first()),
            "thenCompose" | "thenApply" | "thenAccept" | "and_then" | "flatMap" | "thenRun"
            | "onSuccess" => (args.first(), None),
            "handle" | "whenComplete" | "handleAsync" | "ContinueWith" | "addListener" => {
                (args.first(), args.first())
            }
            "finally" => (None, None),
            _ => return Ok(None),
        };
        if args.is_empty() {
            return Ok(None);
        }
        let value = match self.eval(of) {
            Err(Exit::Throw) => Value::Rejected,
            other => other?,
        };
        let failed = matches!(value, Value::Rejected)
            || (matches!(value, Value::Outcome(Part::Whole, true)));
        let way = if failed { bad } else { good };
        let Some(way) = way else { return Ok(Some(value)) };
        // What is handed on is the task itself, which is asked how it went.
        let input = if matches!(name, "ContinueWith" | "addListener") {
            Value::Outcome(Part::Whole, failed)
        } else if failed {
            self.notice(seen::CAUGHT);
            Value::Outcome(Part::Error, true)
        } else {
            value
        };
        let function = match self.runs(way.value) {
            Some(task) => Value::Function(task, self.current),
            None => self.eval(way.value)?,
        };
        let Value::Function(function, frame) = function else { return Ok(Some(Value::Unknown)) };
        let input = if matches!(name, "handle" | "whenComplete" | "handleAsync") {
            let error = if failed { Value::Outcome(Part::Error, true) } else { Value::Null };
            vec![(None, input), (None, error)]
        } else {
            vec![(None, input)]
        };
        match self.invoke(function, input, frame) {
            Err(Exit::Throw) => Ok(Some(Value::Rejected)),
            Ok(value) => Ok(Some(value)),
            Err(exit) => Err(exit),
        }
    }

    /// `(0..3).find_map(f)`: calls `f` until it gives something.
    pub(super) fn until_found(&mut self, over: Id, function: Id) -> Flow<'s> {
        let all = self.elements(over, ENDLESS + 2, true)?;
        self.trace.counted = true;
        let Value::Function(target, frame) = self.eval(function)? else {
            return Ok(Value::Unknown);
        };
        for one in all {
            let found = self.invoke(target, vec![(None, one)], frame)?;
            if self.holds(function, &found) == Truth::Yes {
                return Ok(found);
            }
        }
        Ok(Value::Null)
    }

    /// `Array(3).fill(0).reduce((p) => p.catch(() => call()), Promise.reject())`: each round gets
    /// what the last one gave.
    pub(super) fn folded(
        &mut self,
        of: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let ([function, first], Some(count)) = (args, self.elements_made(of)?) else {
            return Ok(None);
        };
        let Value::Function(target, frame) = self.eval(function.value)? else { return Ok(None) };
        let rejected = match self.tree.kind(first.value) {
            Kind::Call { callee, .. } => {
                matches!(self.tree.path(*callee).as_deref(), Some(["Promise", "reject"]))
            }
            _ => false,
        };
        let mut value = if rejected { Value::Rejected } else { self.eval(first.value)? };
        self.trace.counted = true;
        for _ in 0..count.min(ENDLESS + 2) {
            value = match self.invoke(target, vec![(None, value)], frame) {
                Err(Exit::Throw) => Value::Rejected,
                other => other?,
            };
        }
        Ok(Some(value))
    }

    /// How many elements are made of nothing but a number: `Array(3).fill(0)`, `[...Array(3)]`,
    /// `Array.from({ length: 3 })`.
    fn elements_made(&mut self, of: Id) -> Result<Option<u32>, Exit<'s>> {
        let tree = self.tree;
        let number = match tree.kind(of) {
            Kind::Call { callee, args, .. } => match (tree.kind(*callee), &args[..]) {
                (Kind::Field { of, name: "fill" | "keys" | "map" }, _) => {
                    return self.elements_made(*of);
                }
                (Kind::Name("Array"), [length]) => length.value,
                (Kind::Field { name: "from", .. }, [shape, ..]) => match tree.kind(shape.value) {
                    Kind::Record { entries, .. } => {
                        let length = |entry: &&Entry<'_>| entry.key.as_deref() == Some("length");
                        match entries.iter().find(length) {
                            Some(entry) => entry.value,
                            None => return Ok(None),
                        }
                    }
                    _ => return self.elements_made(shape.value),
                },
                _ => return Ok(None),
            },
            Kind::List(all) | Kind::Other(all) => match all[..] {
                [only] => return self.elements_made(only),
                _ => return Ok(None),
            },
            Kind::Unary { of, .. } => return self.elements_made(*of),
            _ => return Ok(None),
        };
        let value = self.eval(number)?;
        let Some(count) = self.as_number(number, &value) else { return Ok(None) };
        self.bounded_by(count);
        Ok(Some(count.high.clamp(0.0, f64::from(ENDLESS)) as u32))
    }

    /// `new Promise((resolve, reject) => …)`.
    pub(super) fn promise(&mut self, args: &'_ [Arg<'s>]) -> Flow<'s> {
        let Some(first) = args.first() else { return Ok(Value::Unknown) };
        let function = self.eval(first.value)?;
        if let Value::Function(function, frame) = function {
            self.invoke(function, Vec::new(), frame)?;
        }
        Ok(Value::Unknown)
    }

    /// `setTimeout(f, ms)`, `pool.schedule(f, 10, SECONDS)`.
    pub(super) fn scheduled(
        &mut self,
        id: Id,
        last: &str,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        let tree = self.tree;
        let given = || args.iter().map(|arg| arg.value).filter(|_| last != "delayedExecutor");
        // `AfterFunc(time.Second, func() {…})`: a name is one only if nothing is written out.
        let function = given()
            .find(|arg| {
                matches!(tree.kind(*arg), Kind::Function { .. }) || self.runs(*arg).is_some()
            })
            .or_else(|| {
                given().find(|arg| matches!(tree.kind(*arg), Kind::Name(_) | Kind::Field { .. }))
            });
        // A timer that gives up is no wait.
        if let Some(function) = function
            && words::has(
                tree.source(function),
                &["abort", "reject", "cancel", "destroy", "kill(", "exit(", "timed out"],
            )
            && !self.calls_itself(function)
        {
            return Ok(Some(Value::Unknown));
        }
        // `await setTimeout(pause)`, of which a promise is made.
        let function = function.filter(|_| !(args.len() == 1 && self.is_pause(id, args[0].value)));
        let further = further(last, args);
        let number = args[..args.len() - further.len()]
            .iter()
            .rev()
            .map(|arg| arg.value)
            .find(|arg| Some(*arg) != function && !self.is_unit(*arg));
        let mut kind = match self.file.language {
            Language::Python | Language::Ruby => Sleep::Seconds,
            Language::Go => Sleep::Nanos,
            _ => Sleep::Millis,
        };
        for arg in args {
            if let Some(unit) = self.unit(arg.value) {
                kind = unit;
            }
        }
        if let Some(number) = number {
            let value = self.eval(number)?;
            if let Some(num) = self.as_number(number, &value) {
                let ms = self.in_ms(num, kind);
                self.wait(id, ms);
            }
        }
        if last == "delayedExecutor" {
            return Ok(Some(Value::Unknown));
        }
        if let Some(task) = function.and_then(|function| self.runs(function)) {
            let frame = self.current;
            self.invoke(task, Vec::new(), frame)?;
        } else if let Some(function) = function {
            let value = self.eval(function)?;
            if let Value::Function(target, frame) = value
                && !matches!(tree.kind(function), Kind::Name("resolve" | "r" | "res" | "done"))
            {
                let given = self.values_of(further)?;
                self.invoke(target, given, frame)?;
            }
        }
        Ok(Some(Value::Unknown))
    }

    /// Whether what is given to a call that is awaited says how long to wait.
    fn is_pause(&self, call: Id, given: Id) -> bool {
        let awaited =
            self.tree.parent(call).is_some_and(|up| matches!(self.tree.kind(up), Kind::Await(_)));
        awaited && !matches!(self.tree.kind(given), Kind::Function { .. })
    }

    pub(super) fn calls_itself(&self, id: Id) -> bool {
        let Some(function) = self.plan.recursive else { return false };
        let name = self.file.function_name(function);
        name.is_some()
            && self.tree.walk(id).any(|at| match self.tree.kind(at) {
                Kind::Call { callee, .. } => self.tree.last_name(*callee) == name,
                _ => false,
            })
    }

    pub(super) fn is_unit(&self, id: Id) -> bool {
        self.unit(id).is_some()
    }

    pub(super) fn unit(&self, id: Id) -> Option<Sleep> {
        match self.tree.last_name(id)? {
            "SECONDS" | "Seconds" => Some(Sleep::Seconds),
            "MILLISECONDS" => Some(Sleep::Millis),
            "MICROSECONDS" => Some(Sleep::Micros),
            "NANOSECONDS" => Some(Sleep::Nanos),
            _ => None,
        }
    }

    pub(super) fn first_number(&mut self, args: &'_ [Arg<'s>]) -> Result<Option<Num>, Exit<'s>> {
        let Some(arg) = args.first() else { return Ok(None) };
        let value = self.eval(arg.value)?;
        Ok(self.as_number(arg.value, &value))
    }

    /// A call that waits.
    pub(super) fn sleeps(
        &mut self,
        id: Id,
        how: Sleep,
        args: &'_ [Arg<'s>],
    ) -> Result<(), Exit<'s>> {
        let mut found: Option<(Id, Num)> = None;
        let mut unknown = None;
        for arg in args.iter().take(8) {
            let text = self.tree.source(arg.value);
            if words::has(text, &["ctx", "context", "cancellation", "token", "signal"])
                || text == "ct"
            {
                continue;
            }
            let value = self.eval(arg.value)?;
            // What nobody says is not waited.
            if value == Value::Null && !self.plan.hints {
                return Ok(());
            }
            match value.num() {
                Some(num) if found.is_none() => found = Some((arg.value, num)),
                None if value == Value::Unknown && unknown.is_none() => unknown = Some(arg.value),
                _ => {}
            }
        }
        if found.is_none()
            && let Some(arg) = unknown
        {
            found = self.as_number(arg, &Value::Unknown).map(|num| (arg, num));
        }
        let how = args.iter().find_map(|arg| self.unit(arg.value)).unwrap_or(how);
        let ms = match found {
            Some((arg, num)) => {
                let how = match how {
                    Sleep::Named if words::has(self.tree.source(arg), &["second", "sec"]) => {
                        Sleep::Seconds
                    }
                    Sleep::Named => match self.file.language {
                        Language::Python | Language::Ruby | Language::Php => Sleep::Seconds,
                        Language::Go => Sleep::Nanos,
                        _ => Sleep::Millis,
                    },
                    known => known,
                };
                self.in_ms(num, how)
            }
            None => {
                let text = self.file.brief(id, 60);
                match self.symbol(text, None) {
                    Value::Num(num) => num,
                    _ => return Ok(()),
                }
            }
        };
        self.wait(id, ms);
        Ok(())
    }

    pub(super) fn in_ms(&self, num: Num, how: Sleep) -> Num {
        if num.duration {
            return num;
        }
        let scale = match how {
            Sleep::Seconds => 1000.0,
            Sleep::Nanos => 1e-6,
            Sleep::Micros => 1e-3,
            Sleep::Millis | Sleep::Named => 1.0,
        };
        num.map(|value| value * scale)
    }

    pub(super) fn wait(&mut self, at: Id, ms: Num) {
        if self.looking_up == 0 && self.trace.waits.len() < 2 * ENDLESS as usize {
            self.trace.waits.push(Wait { after: self.trace.calls, ms, at });
        }
    }
}

/// The arguments that are handed on to what runs later: `setTimeout(connect, ms, url, n + 1)`,
/// `loop.call_later(5, self.connect, n + 1)`.
fn further<'a, 's>(last: &str, args: &'a [Arg<'s>]) -> &'a [Arg<'s>] {
    let handed = matches!(last, "setTimeout" | "call_later" | "callLater");
    args.get(2..).filter(|_| handed).unwrap_or_default()
}

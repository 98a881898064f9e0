//! Conditions: whether they hold, as far as it can be told.

use super::super::value::{Num, Part, Truth, Value};
use super::super::words;
use super::{Exit, Fate, Machine, seen};
use crate::language::Language;
use crate::tree::{Id, Kind, Op};

impl<'s> Machine<'_, '_, 's> {
    /// Whether a condition holds.
    pub(super) fn truth(&mut self, id: Id) -> Result<Truth, Exit<'s>> {
        let tree = self.tree;
        match tree.kind(id) {
            Kind::Unary { op: Op::Not, of } => Ok(self.truth(*of)?.not()),
            Kind::Binary { op: op @ (Op::And | Op::Or), left, right } => {
                let (op, left, right) = (*op, *left, *right);
                self.steps += 1;
                let first = self.truth(left)?;
                let decided = if op == Op::And { Truth::No } else { Truth::Yes };
                if first == decided {
                    return Ok(first);
                }
                let second = self.truth(right)?;
                Ok(match (first, second) {
                    (_, second) if second == decided => second,
                    (Truth::Maybe(a), Truth::Maybe(b)) => Truth::Maybe(a || b),
                    (maybe @ Truth::Maybe(_), _) | (_, maybe @ Truth::Maybe(_)) => maybe,
                    (_, second) => second,
                })
            }
            Kind::Binary { op, left, right } if is_comparison(*op) => {
                self.steps += 1;
                self.comparison(id, *op, *left, *right)
            }
            Kind::Let { target, value: Some(value), .. } => {
                // `if let x = f()`, `while (x := f())`.
                let (target, value) = (*target, *value);
                let pattern = matches!(tree.kind(target), Kind::Call { .. } | Kind::Field { .. });
                if pattern {
                    let found = self.eval(value)?;
                    let fits = self.matches(value, &found, target)?;
                    self.capture(target, &found)?;
                    return Ok(fits);
                }
                let found = self.eval(id)?;
                Ok(self.holds(id, &found))
            }
            // `if err := f(); err != nil` may come as its statements in order.
            Kind::Block(all) | Kind::List(all) if all.len() > 1 => {
                let (last, first) = (all[all.len() - 1], &all[..all.len() - 1]);
                for one in first {
                    self.eval(*one)?;
                }
                self.truth(last)
            }
            _ => {
                let value = self.eval(id)?;
                // A name or a field that holds a part of the result says which.
                Ok(self.holds(id, &value))
            }
        }
    }

    /// Whether a value counts as true.
    pub(super) fn holds(&mut self, id: Id, value: &Value) -> Truth {
        match value {
            Value::Bool(value) => Truth::of(*value),
            Value::Num(num) => {
                self.bounded_by(*num);
                if num.clock {
                    return Truth::Maybe(false);
                }
                // Where it went well, a server does not say when to ask again.
                if num.server {
                    self.notice(seen::STATUS);
                    return Truth::of(self.failing());
                }
                if num.random { Truth::Yes } else { Truth::of(num.low != 0.0) }
            }
            Value::Null => Truth::No,
            Value::Text(text) => Truth::of(!text.is_empty()),
            Value::List(all) => Truth::of(!all.is_empty()),
            Value::Function(..) | Value::Timer(_) => Truth::Yes,
            Value::Rejected => Truth::Yes,
            Value::Unknown => Truth::Maybe(false),
            Value::Outcome(part, fail) => match (part, fail) {
                // `if not returncode`: 0 is good.
                (Part::Whole | Part::Field, _) if self.named_for_exit_codes(id) => {
                    self.notice(seen::STATUS);
                    Truth::of(*fail)
                }
                (Part::Whole, true) => {
                    self.notice(seen::FALSY);
                    Truth::No
                }
                (Part::Whole, false) => Truth::Yes,
                (Part::Error, _) => {
                    self.notice(seen::ERROR);
                    Truth::of(*fail)
                }
                // An exit code that is not 0.
                (Part::Status, _) if self.is_exit_code(id) => {
                    self.notice(seen::STATUS);
                    Truth::of(*fail)
                }
                (Part::Status, _) => Truth::Yes,
                (Part::Flag, _) => {
                    self.notice(seen::FLAG);
                    Truth::of(!fail)
                }
                (Part::Doubt, true) => Truth::Maybe(true),
                (Part::Doubt, false) => self.good_answer(id),
                (Part::Field, _) => {
                    self.notice(seen::DOMAIN);
                    Truth::Maybe(true)
                }
            },
        }
    }

    fn is_exit_code(&self, id: Id) -> bool {
        let name = self.tree.last_name(id).unwrap_or_default();
        words::has(name, &["exit", "returncode", "return_code"])
    }

    /// Whether a name is that of an exit code, wherever it was taken from.
    fn named_for_exit_codes(&self, id: Id) -> bool {
        self.tree.last_name(id).is_some_and(is_exit_code)
    }

    /// Whether a call gives what a command ended with: `subprocess.call(…)`, `os.system(…)`.
    fn runs_a_command(&self, id: Id) -> bool {
        let Kind::Call { callee, .. } = self.tree.kind(id) else { return false };
        let path = self.tree.path(*callee).unwrap_or_default();
        let of_commands = path.iter().any(|part| matches!(*part, "subprocess" | "child_process"));
        let name = self.tree.last_name(*callee).unwrap_or_default();
        of_commands || words::any(name, &["system", "cmd", "command", "shell", "exec", "execute"])
    }

    /// A question about a good result: "is this an error" is no, "is this fine" is yes.
    fn good_answer(&mut self, id: Id) -> Truth {
        let text = match self.tree.kind(id) {
            Kind::Call { callee, .. } => self.tree.last_name(*callee).unwrap_or_default(),
            _ => self.tree.last_name(id).unwrap_or_default(),
        };
        match words::about(text) {
            words::About::Flag => Truth::Yes,
            // What has come to its end went well.
            _ if words::any(text, &["eof", "end"]) => Truth::Maybe(true),
            words::About::Doubt | words::About::BadFlag | words::About::Error => Truth::No,
            _ => Truth::Maybe(true),
        }
    }

    pub(super) fn comparison(
        &mut self,
        id: Id,
        op: Op,
        left: Id,
        right: Id,
    ) -> Result<Truth, Exit<'s>> {
        if op == Op::Matches {
            // The value may stand on either side of the pattern.
            let value = self.eval(left)?;
            let fits = self.matches(left, &value, right)?;
            self.capture(right, &value)?;
            return Ok(fits);
        }
        let a = self.eval(left)?;
        let b = self.eval(right)?;
        match (&a, &b) {
            (Value::Outcome(part, fail), _) => Ok(self.compared(op, left, *part, *fail, right, &b)),
            (_, Value::Outcome(part, fail)) => {
                Ok(self.compared(mirrored(op), right, *part, *fail, left, &a))
            }
            (Value::Rejected, _) | (_, Value::Rejected) => Ok(Truth::Maybe(true)),
            (Value::Null, Value::Null) => Ok(Truth::of(op == Op::Equal || op == Op::AtMost)),
            (Value::Null, Value::Unknown) | (Value::Unknown, Value::Null) => {
                Ok(Truth::Maybe(false))
            }
            (Value::Null, other) | (other, Value::Null) if other.num().is_none() => match op {
                Op::Equal => Ok(Truth::No),
                Op::NotEqual => Ok(Truth::Yes),
                _ => Ok(Truth::Maybe(false)),
            },
            (Value::Null, _) | (_, Value::Null) => match op {
                Op::Equal => Ok(Truth::No),
                Op::NotEqual => Ok(Truth::Yes),
                _ => {
                    let zero = Num::exact(0.0);
                    let (a, b) = (a.num().unwrap_or(zero), b.num().unwrap_or(zero));
                    Ok(self.ordered(op, a, b))
                }
            },
            (Value::Text(a), Value::Text(b)) => Ok(match op {
                Op::Equal => Truth::of(a == b),
                Op::NotEqual => Truth::of(a != b),
                _ => Truth::Maybe(false),
            }),
            (Value::Bool(a), Value::Bool(b)) => Ok(match op {
                Op::Equal => Truth::of(a == b),
                Op::NotEqual => Truth::of(a != b),
                _ => Truth::Maybe(false),
            }),
            (Value::List(all), Value::Num(_) | Value::Text(_)) if op == Op::In => {
                Ok(Truth::of(all.contains(&b)))
            }
            _ => self.numbers(id, op, (left, a), (right, b)),
        }
    }

    fn numbers(
        &mut self,
        _id: Id,
        op: Op,
        (left, a): (Id, Value),
        (right, b): (Id, Value),
    ) -> Result<Truth, Exit<'s>> {
        let order = matches!(op, Op::Less | Op::AtMost | Op::Greater | Op::AtLeast);
        let counts = |this: &Self, id: Id| {
            this.tree.last_name(id).is_some_and(|name| words::any(name, words::COUNTERS))
        };
        if let (Some(a), Some(b)) = (a.num(), b.num()) {
            return Ok(self.ordered(op, a, b));
        }
        let one = a.num().is_some() || b.num().is_some();
        let equal = matches!(op, Op::Equal | Op::NotEqual)
            && one
            && (counts(self, left) || counts(self, right));
        if !(order || equal) {
            return Ok(Truth::Maybe(false));
        }
        if !(one || counts(self, left) || counts(self, right)) {
            return Ok(Truth::Maybe(false));
        }
        // A getter and a limit of which nothing is known: nobody can tell which is more.
        if order && !one && matches!(self.tree.kind(left), Kind::Call { .. }) {
            return Ok(Truth::Maybe(false));
        }
        let (Some(a), Some(b)) = (self.as_number(left, &a), self.as_number(right, &b)) else {
            return Ok(Truth::Maybe(false));
        };
        Ok(self.ordered(op, a, b))
    }

    pub(super) fn ordered(&mut self, op: Op, a: Num, b: Num) -> Truth {
        if !(a.clock || b.clock) {
            self.trace.counted = true;
        } else {
            // Time stands still: not yet. What lies between is the limit.
            let scale = if a.duration || b.duration { 1.0 } else { self.clock_unit() };
            let gap = a.mid().abs().max(b.mid().abs()) * scale;
            let known = (a.symbol == 0 && b.symbol == 0 && gap > 0.0).then_some(gap);
            let old = self.trace.clock.flatten();
            self.trace.clock = Some(old.or(known));
        }
        self.bounded_by(a);
        self.bounded_by(b);
        let (x, y) = (a.mid(), b.mid());
        Truth::of(match op {
            Op::Less => x < y,
            Op::AtMost => x <= y,
            Op::Greater => x > y,
            Op::AtLeast => x >= y,
            Op::Equal => x == y,
            Op::NotEqual => x != y,
            _ => return Truth::Maybe(false),
        })
    }

    /// Milliseconds in one unit of what clocks say in this language.
    pub(super) fn clock_unit(&self) -> f64 {
        match self.file.language {
            Language::Python | Language::Ruby | Language::Php => 1000.0,
            Language::Go => 1e-6,
            _ => 1.0,
        }
    }

    /// A part of the result beside something else.
    pub(super) fn compared(
        &mut self,
        op: Op,
        side: Id,
        part: Part,
        fail: bool,
        other_id: Id,
        other: &Value,
    ) -> Truth {
        let null = *other == Value::Null;
        let equality = matches!(op, Op::Equal | Op::NotEqual);
        let yes = |holds: bool| Truth::of(holds == (op == Op::Equal));
        // `result == Result.RETRY`.
        let another = match other {
            Value::Text(text) => words::names_another(text),
            _ => self.tree.last_name(other_id).is_some_and(words::names_another),
        };
        if equality && another {
            self.notice(seen::FLAG);
            return yes(fail);
        }
        match part {
            Part::Error if null && equality => {
                self.notice(seen::ERROR);
                yes(!fail)
            }
            Part::Whole if null && equality => {
                // `f() != nil` in Go asks for the error; elsewhere for the result.
                let call = matches!(self.tree.kind(side), Kind::Call { .. });
                if call && self.file.language == Language::Go {
                    self.notice(seen::ERROR);
                    return yes(!fail);
                }
                self.notice(seen::FALSY);
                // An answer that says that it failed is there.
                yes(fail && self.plan.fate != Fate::Said)
            }
            Part::Flag | Part::Whole | Part::Doubt
                if equality && matches!(other, Value::Bool(_)) =>
            {
                self.notice(if part == Part::Flag { seen::FLAG } else { seen::FALSY });
                if part == Part::Doubt {
                    return Truth::Maybe(true);
                }
                yes(*other == Value::Bool(!fail))
            }
            // `"error" in answer`: there is one only after a failure.
            Part::Whole | Part::Field
                if matches!(op, Op::In | Op::NotIn)
                    && matches!(other, Value::Text(key) if words::about(key) == words::About::Error) =>
            {
                self.notice(seen::ERROR);
                Truth::of(fail == (op == Op::In))
            }
            Part::Error | Part::Doubt => {
                if part == Part::Error {
                    self.notice(seen::ERROR);
                }
                if fail { Truth::Maybe(true) } else { Truth::of(op == Op::NotEqual) }
            }
            Part::Status => self.status(op, fail, side, other_id, other),
            Part::Field if null && equality => {
                self.notice(seen::DOMAIN);
                yes(fail)
            }
            Part::Whole | Part::Flag | Part::Field => {
                // `code, text = run()`, and then `code == 0`.
                let codes = self.named_for_exit_codes(side)
                    || self.runs_a_command(side)
                    || equality
                        && other.num().is_some_and(|num| num.low == 0.0)
                        && matches!(self.tree.kind(side), Kind::Name(name)
                            if words::about(name) == words::About::Status
                                || self.file.language != Language::Go
                                    && matches!(*name, "ret" | "retval" | "rv" | "errno"));
                if codes && other.num().is_some() {
                    return self.status(op, fail, side, other_id, other);
                }
                // `run() == 200`: such numbers are codes.
                if part == Part::Whole
                    && other.num().is_some_and(|num| (200.0..600.0).contains(&num.low))
                {
                    return self.status(op, fail, side, other_id, other);
                }
                self.notice(seen::DOMAIN);
                Truth::Maybe(true)
            }
        }
    }

    /// A status code: good is 200 or 0, bad is anything else that is worth another attempt.
    pub(super) fn status(
        &mut self,
        op: Op,
        fail: bool,
        side: Id,
        other_id: Id,
        other: &Value,
    ) -> Truth {
        // `500..=599`, `range(500, 600)`: what it begins with says which codes.
        let range = match self.tree.kind(other_id) {
            Kind::Range { from: Some(from), .. } => match self.tree.kind(*from) {
                Kind::Number(first) => Some(Num::exact(*first)),
                _ => None,
            },
            _ => None,
        };
        let known = other.num().or(range);
        // `status / 100 == 2`.
        let hundreds = known.is_some_and(|num| (2.0..=5.0).contains(&num.low))
            && self.tree.source(side).contains("100");
        let known = if hundreds { known.map(|num| num.map(|code| code * 100.0)) } else { known };
        let text = self.tree.source(other_id);
        // A text of that kind is a state that something comes to: "done".
        let goods: &[&str] = match other {
            Value::Text(_) => &["ok", "success"],
            _ => &["ok", "success", "accepted", "created", "done"],
        };
        let said_good = words::any(text, goods) && !words::any(text, &["not"]);
        // A text that is no code is a state of the application: "ready", "done".
        let wordy = match other {
            Value::Text(text) => !is_code(text),
            Value::List(all) => {
                !all.is_empty()
                    && all.iter().all(|one| matches!(one, Value::Text(text) if !is_code(text)))
            }
            Value::Unknown if range.is_some() => false,
            Value::Unknown => !words::has(
                text,
                &[
                    "http",
                    "code",
                    "not_found",
                    "too_many",
                    "unavail",
                    "err",
                    "internal",
                    "retry",
                    "transient",
                    "temporar",
                    "throttl",
                ],
            ),
            _ => false,
        };
        if wordy && !said_good {
            self.notice(seen::DOMAIN);
            return Truth::Maybe(true);
        }
        self.notice(seen::STATUS);
        // The status of an error is never good: where it is 0 there was no answer.
        let good = said_good
            || known.is_some_and(|num| {
                (num.low >= 200.0 && num.low < 300.0)
                    || num.low == 0.0 && self.plan.fate != Fate::Throws
            });
        let holds = |equal: bool| Truth::of(equal);
        match op {
            Op::Equal if good => holds(!fail),
            Op::NotEqual if good => holds(fail),
            Op::Equal | Op::In | Op::NotEqual | Op::NotIn => {
                let negative = matches!(op, Op::NotEqual | Op::NotIn);
                let lists_good = match (other, self.tree.kind(other_id)) {
                    (Value::List(all), _) => {
                        all.iter().any(|v| v.num().is_some_and(|n| n.low >= 200.0 && n.low < 300.0))
                    }
                    _ => said_good || range.is_some() && good,
                };
                if lists_good {
                    return holds(fail == negative);
                }
                if fail { Truth::Maybe(true) } else { holds(negative) }
            }
            Op::Less | Op::AtMost | Op::Greater | Op::AtLeast => {
                let Some(num) = known else { return Truth::Maybe(true) };
                let below = matches!(op, Op::Less | Op::AtMost);
                if num.low < 100.0 {
                    // An exit code, a count of errors.
                    return if fail { Truth::Maybe(true) } else { holds(below) };
                }
                if !fail {
                    return holds(if below { num.low > 200.0 } else { num.low <= 200.0 });
                }
                // Where a bad one lies is not known, but it is not good.
                if num.low <= 400.0 { holds(!below) } else { Truth::Maybe(true) }
            }
            _ => Truth::Maybe(true),
        }
    }
}

/// Whether a name is that of what a process ends with: `exit_code`, `returncode`, `rc`.
fn is_exit_code(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    const CODES: &[&str] = &["exitcode", "exitstatus", "returncode", "retcode"];
    plain == "rc" || CODES.iter().any(|code| plain.ends_with(code))
}

/// `"503"`: a code that is written as a text.
fn is_code(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

fn is_comparison(op: Op) -> bool {
    matches!(
        op,
        Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::AtMost
            | Op::Greater
            | Op::AtLeast
            | Op::In
            | Op::NotIn
            | Op::Matches
    )
}

fn mirrored(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::AtMost => Op::AtLeast,
        Op::Greater => Op::Less,
        Op::AtLeast => Op::AtMost,
        other => other,
    }
}

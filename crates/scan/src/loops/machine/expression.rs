//! Arithmetic.

use super::super::value::{Num, Value};
use super::super::words;
use super::{Flow, Machine};
use crate::language::Language;
use crate::tree::{Id, Kind, Op};

impl<'s> Machine<'_, '_, 's> {
    pub(super) fn unary(&mut self, id: Id, op: Op, of: Id) -> Flow<'s> {
        match op {
            Op::Not => Ok(self.truth(id)?.value()),
            Op::Subtract => {
                let value = self.eval(of)?;
                Ok(value.num().map_or(Value::Unknown, |num| {
                    Value::Num(Num { low: -num.high, high: -num.low, ..num })
                }))
            }
            Op::Other if self.tree.source(id).starts_with("<-") => {
                let value = self.received(of)?;
                // Alone, and not one of several that may come.
                let alone = |up| matches!(self.tree.kind(up), Kind::Block(_));
                if let Value::Timer(ms) = value
                    && self.tree.parent(id).is_some_and(alone)
                {
                    self.wait(id, ms);
                }
                Ok(value)
            }
            _ => self.eval(of),
        }
    }

    pub(super) fn binary(&mut self, id: Id, op: Op, left: Id, right: Id) -> Flow<'s> {
        match op {
            Op::And => {
                let a = self.eval(left)?;
                match self.holds(left, &a) {
                    super::super::value::Truth::No => Ok(a),
                    _ => self.eval(right),
                }
            }
            Op::Or | Op::Else => {
                let a = self.eval(left)?;
                if let Value::Num(num) = a
                    && num.server
                {
                    return Ok(a);
                }
                match a {
                    Value::Outcome(..) => {
                        if self.holds(left, &a) == super::super::value::Truth::Yes {
                            return Ok(a);
                        }
                        self.eval(right)
                    }
                    Value::Null | Value::Bool(false) => self.eval(right),
                    // `load() ?? throw new …`, `choose() ?: return`: it is there.
                    Value::Unknown if leaves(self.tree.kind(right)) => Ok(a),
                    Value::Unknown => {
                        // `options.retries || 3`: usually the default.
                        let default = self.eval(right)?;
                        match default {
                            Value::Num(num) if !num.server => {
                                let text = self.file.brief(left, 60);
                                let known = self.symbol(text, Some(num));
                                // One that grows is another the next time.
                                let moved = known.num().is_some_and(|known| known.low < num.low);
                                Ok(if moved { default } else { known })
                            }
                            Value::Bool(_) | Value::Null => Ok(Value::Unknown),
                            other => Ok(other),
                        }
                    }
                    Value::Num(num) if op == Op::Or && num.low == 0.0 && num.high == 0.0 => {
                        self.eval(right)
                    }
                    other => Ok(other),
                }
            }
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::AtMost
            | Op::Greater
            | Op::AtLeast
            | Op::In
            | Op::NotIn
            | Op::Matches => Ok(self.comparison(id, op, left, right)?.value()),
            _ => self.arithmetic(op, left, right),
        }
    }

    fn arithmetic(&mut self, op: Op, left: Id, right: Id) -> Flow<'s> {
        let a = self.eval(left)?;
        let b = self.eval(right)?;
        if let (Value::Text(_), _) | (_, Value::Text(_)) = (&a, &b) {
            return Ok(Value::Unknown);
        }
        if let (Value::Outcome(part, fail), _) | (_, Value::Outcome(part, fail)) = (&a, &b) {
            return Ok(Value::Outcome(*part, *fail));
        }
        // `DELAYS + [None]`.
        if let (Op::Add, Value::List(all), Value::List(more)) = (op, &a, &b) {
            let out: Vec<Value> = all.iter().chain(more.iter()).take(1024).cloned().collect();
            return Ok(Value::List(out.into()));
        }
        // `[x] * 3`.
        if let (Op::Multiply, Value::List(all), Value::Num(times)) = (op, &a, &b) {
            let times = times.low.clamp(0.0, 1000.0) as usize;
            let most = 1024_usize;
            let out: Vec<Value> =
                all.iter().cycle().take((all.len() * times).min(most)).cloned().collect();
            return Ok(Value::List(out.into()));
        }
        if a.num().is_none() && b.num().is_none() && !self.countable(left) && !self.countable(right)
        {
            return Ok(Value::Unknown);
        }
        let (Some(x), Some(y)) = (self.as_number(left, &a), self.as_number(right, &b)) else {
            return Ok(Value::Unknown);
        };
        Ok(Value::Num(self.calculated(op, x, y)))
    }

    /// Whether a name without a value is likely to be a number.
    fn countable(&self, id: Id) -> bool {
        self.tree
            .last_name(id)
            .is_some_and(|name| words::any(name, words::COUNTERS) || words::any(name, words::WAITS))
    }

    pub(super) fn calculated(&self, op: Op, x: Num, y: Num) -> Num {
        match op {
            Op::Add => x.add(y),
            Op::Subtract => x.subtract(y),
            Op::Multiply => x.multiply(y),
            Op::Divide => {
                let quotient = x.divide(y);
                let whole =
                    matches!(self.file.language, Language::Go | Language::Java | Language::Rust)
                        && !x.duration
                        && !x.random
                        && x.low.fract() == 0.0
                        && y.low.fract() == 0.0
                        && y.low > 1.0;
                if whole { quotient.map(f64::trunc) } else { quotient }
            }
            Op::Remainder => {
                if y.low == y.high && y.low != 0.0 {
                    if x.random {
                        // `rand() % n`.
                        return Num { low: 0.0, high: y.low, ..x };
                    }
                    x.with(y, |a, b| a % b)
                } else {
                    x
                }
            }
            Op::Power => power(x, y),
            Op::ShiftLeft => {
                let shifted = x.with(y, |a, b| a * 2_f64.powf(b.clamp(-64.0, 512.0)));
                Num { duration: x.duration, ..shifted }
            }
            Op::ShiftRight => x.with(y, |a, b| (a / 2_f64.powf(b.clamp(-64.0, 512.0))).floor()),
            // `^` is a power in no language that is read here.
            Op::BitAnd | Op::BitOr | Op::BitXor => x.with(y, |a, b| {
                let (a, b) = (whole(a), whole(b));
                let bits = match op {
                    Op::BitAnd => a & b,
                    Op::BitOr => a | b,
                    _ => a ^ b,
                };
                bits as f64
            }),
            _ => x,
        }
    }

    /// Whether an expression is the same in every round: none of its names is assigned in what
    /// runs.
    pub(super) fn is_fixed(&self, id: Id) -> bool {
        let tree = self.tree;
        let entry = self.plan.recursive.unwrap_or(self.plan.entry);
        tree.walk(id).all(|at| match tree.kind(at) {
            Kind::Name(name) => {
                let changed = self
                    .file
                    .assigned(name)
                    .iter()
                    .any(|place| *place != id && self.file.within(*place, entry));
                !changed && !self.counts(entry, name)
            }
            Kind::Call { callee, .. } => {
                // A call of something that makes a number of the same.
                tree.path(*callee).is_none_or(|path| {
                    path.last().is_none_or(|last| !words::has(last, &["pow", "rand"]))
                })
            }
            Kind::Binary { op: Op::Power | Op::ShiftLeft, .. } => false,
            _ => true,
        })
    }

    /// Whether a name is a loop's variable, or is counted up or down in it.
    fn counts(&self, entry: Id, name: &str) -> bool {
        let tree = self.tree;
        tree.walk(entry).any(|at| match tree.kind(at) {
            Kind::Loop { form: crate::tree::LoopForm::Each { var: Some(var), .. }, .. } => {
                tree.walk(*var).any(|one| matches!(tree.kind(one), Kind::Name(n) if *n == name))
            }
            Kind::Step { of, .. } => tree.last_name(*of) == Some(name),
            _ => false,
        })
    }
}

/// `x` to the power of `y`.
pub(super) fn power(x: Num, y: Num) -> Num {
    let raised = x.with(y, |a, b| {
        let value = a.powf(b);
        if value.is_finite() { value } else { f64::MAX }
    });
    Num { duration: x.duration, ..raised }
}

fn whole(value: f64) -> i64 {
    value.clamp(-9e15, 9e15) as i64
}

/// Whether what stands for a missing value is no value, but leaves.
fn leaves(kind: &Kind<'_>) -> bool {
    matches!(kind, Kind::Throw(_) | Kind::Return(_) | Kind::Break { .. } | Kind::Continue(_))
}

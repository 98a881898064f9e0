//! Lists that grow, as what a batch keeps of what failed, and lists that are walked along, as the
//! waits of a schedule.

use super::super::value::{Num, Value};
use super::super::words;
use super::{Exit, MOST_YIELDED, Machine};
use crate::tree::{Arg, Id, Kind, Tree};

/// Longer lists are not kept whole.
const MOST_KEPT: usize = 64;

/// Methods that give what goes along a list, or the list itself.
const WALKS: &[&str] = &[
    "iter",
    "into_iter",
    "iterator",
    "listiterator",
    "getenumerator",
    "copied",
    "cloned",
    "by_ref",
    "fuse",
    "peekable",
    "to_vec",
    "tolist",
    "toarray",
    "values",
    "slice",
    "copy",
    "clone",
];

/// What else a list, or one of it, is asked.
const ASKS: &[&str] = &[
    "len",
    "size",
    "count",
    "length",
    "hasnext",
    "movenext",
    "isnotempty",
    "isempty",
    "is_empty",
    "first",
    "peek",
    "get",
    "elementat",
    "at",
    "getornull",
    "unwrap",
    "expect",
    "is_none",
    "is_some",
    "ispresent",
    "next",
];

/// Whether a call takes the next of a list.
fn is_next(name: &str, args: &[Arg<'_>], tree: &Tree<'_>) -> bool {
    match (name, args) {
        ("next" | "shift" | "pop_front" | "popfirst" | "removefirst" | "popleft", []) => true,
        ("poll" | "dequeue", []) => true,
        ("next", [_]) => true,
        ("pop" | "remove" | "removeat", [at]) => {
            matches!(tree.kind(at.value), Kind::Number(number) if *number == 0.0)
        }
        _ => false,
    }
}

impl<'s> Machine<'_, '_, 's> {
    /// A call that puts an element into a list that is known: `failed.append(one)`,
    /// `failed = append(failed, one)`.
    pub(super) fn kept(
        &mut self,
        path: &[&'s str],
        name: &str,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        match (name, args) {
            ("append" | "push" | "add" | "push_back", [only]) => {
                let Kind::Field { of, .. } = self.tree.kind(callee) else { return Ok(None) };
                let Some(Value::List(all)) = self.current(*of) else { return Ok(None) };
                let longer = self.longer(all.to_vec(), only.value)?;
                self.set(*of, longer)?;
                Ok(Some(Value::Unknown))
            }
            ("append", [list, more]) if path.len() == 1 => {
                let all = match self.eval(list.value)? {
                    Value::List(all) => all.to_vec(),
                    Value::Null => Vec::new(),
                    _ => return Ok(None),
                };
                Ok(Some(self.longer(all, more.value)?))
            }
            _ => self.walked(path, name, callee, args),
        }
    }

    /// A call that walks along a list, or asks it something: `waits.iter()`, `waits.next()`,
    /// `next(waits, None)`, `waits.size()`.
    fn walked(
        &mut self,
        path: &[&'s str],
        name: &str,
        callee: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Value>, Exit<'s>> {
        // Most calls are of something else, and what a receiver is costs a look at it.
        if !(WALKS.contains(&name) || ASKS.contains(&name) || is_next(name, args, self.tree)) {
            return Ok(None);
        }
        let own = match (self.tree.kind(callee), args) {
            (Kind::Field { of, .. }, _) => Some((*of, args)),
            (Kind::Name(_), [first, rest @ ..]) if path.len() == 1 => Some((first.value, rest)),
            _ => None,
        };
        let Some((of, args)) = own else { return Ok(None) };
        if !self.may_be_asked(of) {
            return Ok(None);
        }
        let value = self.eval(of)?;
        let value = match value {
            Value::Unknown | Value::Num(Num { open: true, listed: false, .. })
                if WALKS.contains(&name) && self.are_waits(of) =>
            {
                self.waits_of(of)
            }
            value => value,
        };
        let all = match value {
            Value::List(all) => all,
            // `waits.next().copied()`, `wait.is_none()`.
            Value::Null | Value::Num(_) => {
                let there = value != Value::Null;
                let known = value.num().is_none_or(|num| num.listed || num.symbol == 0);
                return Ok(match name {
                    "copied" | "cloned" => Some(value),
                    "unwrap" | "expect" if there => Some(value),
                    "is_none" | "isempty" if known => Some(Value::Bool(!there)),
                    "is_some" | "ispresent" if known => Some(Value::Bool(there)),
                    _ => None,
                });
            }
            _ => return Ok(None),
        };
        let first = || all.first().cloned();
        Ok(match (name, args) {
            (name, []) if WALKS.contains(&name) => Some(Value::List(all)),
            (name, args) if is_next(name, args, self.tree) => {
                let next = match (first(), args) {
                    (Some(next), _) => next,
                    (None, [default]) if name == "next" => self.eval(default.value)?,
                    (None, _) => Value::Null,
                };
                self.set(of, Value::List(all.iter().skip(1).cloned().collect()))?;
                Some(next)
            }
            ("len" | "size" | "count" | "length", []) => Some(Value::number(all.len() as f64)),
            ("hasnext" | "movenext" | "isnotempty", []) => Some(Value::Bool(!all.is_empty())),
            ("isempty" | "is_empty", []) => Some(Value::Bool(all.is_empty())),
            ("first" | "peek", []) => Some(first().unwrap_or(Value::Null)),
            ("get" | "elementat" | "at" | "getornull", [at]) => {
                let at = self.eval(at.value)?.num();
                at.map(|at| all.get(at.low.max(0.0) as usize).cloned().unwrap_or(Value::Null))
            }
            _ => None,
        })
    }

    /// Whether asking what something is does nothing else, but for a step along a list.
    fn may_be_asked(&self, of: Id) -> bool {
        match self.tree.kind(of) {
            Kind::Name(_) | Kind::Field { .. } | Kind::List(_) => true,
            Kind::Call { callee, args, .. } => {
                let Kind::Field { of, name } = self.tree.kind(*callee) else { return false };
                let lower = name.to_ascii_lowercase();
                (WALKS.contains(&&*lower) || is_next(&lower, args, self.tree))
                    && self.may_be_asked(*of)
            }
            _ => false,
        }
    }

    /// Whether a name is that of several waits, one for each retry.
    pub(super) fn are_waits(&self, of: Id) -> bool {
        self.tree.last_name(of).is_some_and(words::names_a_schedule)
    }

    /// As many waits as there are of them, when nobody can tell how many.
    pub(super) fn waits_of(&mut self, of: Id) -> Value {
        let length = self.symbol(self.file.brief(of, 60), None).num();
        let Some(length) = length else { return Value::Unknown };
        self.bounded_by(length);
        let one = Self::one_of(length);
        Value::List(vec![one; length.high.clamp(0.0, 64.0) as usize].into())
    }

    /// A list that is usually this: where it is asked what more attempts do, its last is repeated.
    pub(super) fn usual_list(&mut self, of: Id, all: &[Num]) -> Value {
        let usual = Num::exact(all.len() as f64);
        let length = self.symbol(self.file.brief(of, 60), Some(usual)).num();
        let length = length.unwrap_or(usual);
        self.bounded_by(length);
        let count = length.high.clamp(0.0, 64.0) as usize;
        let last = all.last().copied().into_iter().cycle();
        Value::List(all.iter().copied().chain(last).take(count).map(Value::Num).collect())
    }

    /// A wait of a list that is not known.
    pub(super) fn one_of(list: Num) -> Value {
        Value::Num(Num { duration: false, open: true, listed: true, ..list })
    }

    /// What a generator of this file gives, if it comes to its end.
    pub(super) fn generated(
        &mut self,
        call: Id,
        args: &'_ [Arg<'s>],
    ) -> Result<Option<Vec<Value>>, Exit<'s>> {
        let tree = self.tree;
        let Some(function) = self.file.callee(call) else { return Ok(None) };
        let Kind::Function { body, .. } = tree.kind(function) else { return Ok(None) };
        if self.yielded.is_some()
            || !tree.walk_here(*body).any(|id| matches!(tree.kind(id), Kind::Yield(_)))
        {
            return Ok(None);
        }
        let mut given = Vec::new();
        for arg in args {
            given.push((arg.name, self.eval(arg.value)?));
        }
        self.yielded = Some(Vec::new());
        let end = self.invoke(function, given, 0);
        let all = self.yielded.take().unwrap_or_default();
        end?;
        Ok((!all.is_empty() && all.len() < MOST_YIELDED).then_some(all))
    }

    /// Whether an element of a list stands for all of another: `[0, ...delays]`.
    pub(super) fn is_spread(&self, element: Id) -> bool {
        self.tree.source(element).starts_with("...")
    }

    fn longer(&mut self, mut all: Vec<Value>, more: Id) -> Result<Value, Exit<'s>> {
        let value = self.eval(more)?;
        if all.len() < MOST_KEPT {
            all.push(value);
        }
        Ok(Value::List(all.into()))
    }
}

//! Evaluation of an expression.

use std::cell::{Cell, RefCell};

use super::arithmetic::{binary, either};
use super::bindings::Bindings;
use super::imports::Imports;
use super::project::Project;
use super::{Data, Trust, Value};
use crate::tree::{Id, Kind, Op, Tree};

/// So many steps for one question, and so deep: a file is written by a stranger.
const STEPS: u32 = 4000;
const DEPTH: u32 = 48;
/// Lists and records keep so many elements.
const ELEMENTS: usize = 64;

/// What names are worth before anything else is looked at: the state of a loop.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<Value>;

/// Evaluates the expressions of one file.
pub struct Values<'t, 's> {
    pub(super) tree: &'t Tree<'s>,
    pub(super) imports: &'t Imports<'s>,
    pub(super) bindings: Bindings<'s>,
    /// The other files and the path of this one.
    pub(super) project: Option<(&'t Project, &'t str)>,
    steps: Cell<u32>,
    depth: Cell<u32>,
    /// Bindings that are being followed: a name may be defined by itself.
    pub(super) open: RefCell<Vec<Id>>,
    unresolved: Cell<bool>,
}

impl std::fmt::Debug for Values<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("bindings", &self.bindings.names.len()).finish()
    }
}

impl<'t, 's> Values<'t, 's> {
    /// For a file alone.
    #[must_use]
    pub fn new(tree: &'t Tree<'s>, imports: &'t Imports<'s>) -> Self {
        Self {
            tree,
            imports,
            bindings: Bindings::of(tree),
            project: None,
            steps: Cell::new(0),
            depth: Cell::new(0),
            open: RefCell::new(Vec::new()),
            unresolved: Cell::new(false),
        }
    }

    /// With the other files of its repository; `path` is this file's, as the project has it.
    #[must_use]
    pub fn with_project(mut self, project: &'t Project, path: &'t str) -> Self {
        self.project = Some((project, path));
        self
    }

    /// The path of the file, if others are known.
    pub(crate) fn path(&self) -> Option<&'t str> {
        self.project.map(|(_, path)| path)
    }

    /// The tree that is evaluated.
    #[must_use]
    pub fn tree(&self) -> &'t Tree<'s> {
        self.tree
    }

    /// The imports of the file.
    #[must_use]
    pub fn imports(&self) -> &'t Imports<'s> {
        self.imports
    }

    /// Whether some question was left open because a name comes from another file: with a
    /// [`Project`] it is worth to ask again.
    #[must_use]
    pub fn wants_project(&self) -> bool {
        self.unresolved.get()
    }

    pub(super) fn want_project(&self) {
        self.unresolved.set(true);
    }

    /// What an expression is worth at its place.
    #[must_use]
    pub fn of(&self, id: Id) -> Value {
        self.within(id, &|_| None)
    }

    /// The same where some names have a known value: `env` is asked first, and only for plain
    /// names and for paths such as `self.delay`.
    #[must_use]
    pub fn within(&self, id: Id, env: Environment<'_>) -> Value {
        self.steps.set(0);
        self.depth.set(0);
        self.open.borrow_mut().clear();
        self.value(id, env)
    }

    pub(super) fn unknown(&self, id: Id) -> Value {
        Value::unknown(self.tree.source(id), self.line(id))
    }

    pub(super) fn line(&self, id: Id) -> u32 {
        self.tree.span(id).line
    }

    pub(super) fn exact(&self, id: Id, data: Data) -> Value {
        Value::exact(data, self.line(id))
    }

    pub(super) fn value(&self, id: Id, env: Environment<'_>) -> Value {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps > STEPS || self.depth.get() >= DEPTH {
            return self.unknown(id);
        }
        self.depth.set(self.depth.get() + 1);
        let value = self.one(id, env);
        self.depth.set(self.depth.get() - 1);
        value.unwrap_or_else(|| self.unknown(id))
    }

    /// `None`: not known.
    fn one(&self, id: Id, env: Environment<'_>) -> Option<Value> {
        match self.tree.kind(id) {
            Kind::Number(value) => Some(self.exact(id, Data::Number(*value))),
            Kind::Text(text) => Some(self.exact(id, Data::Text(text.to_string()))),
            Kind::Bool(value) => Some(self.exact(id, Data::Bool(*value))),
            Kind::Null => Some(self.exact(id, Data::Null)),
            Kind::Name(name) => self.named(id, name, env),
            Kind::Field { of, name } => self.field(id, *of, name, env),
            Kind::Index { of, at } => self.index(id, *of, *at, env),
            Kind::Call { callee, args, .. } => self.call(id, *callee, args, env),
            Kind::Unary { op, of } => self.unary(*op, *of, env),
            Kind::Binary { op, left, right } => self.binary(*op, *left, *right, env),
            Kind::If { test, then, otherwise: Some(otherwise) } => {
                match self.value(*test, env).truth() {
                    Some(true) => Some(self.value(*then, env)),
                    Some(false) => Some(self.value(*otherwise, env)),
                    None => {
                        let (a, b) = (self.value(*then, env), self.value(*otherwise, env));
                        // `x if x is not None else 3`: what stands there if nobody says otherwise.
                        match (a.is_known(), b.is_known()) {
                            (false, true) => Some(b.at_most(Trust::Usual)),
                            (true, false) => Some(a.at_most(Trust::Usual)),
                            _ => either(&a, &b),
                        }
                    }
                }
            }
            Kind::Record { entries, .. } => {
                let mut all = Vec::new();
                for entry in entries.iter().take(ELEMENTS) {
                    match &entry.key {
                        Some(key) => all.push((key.to_string(), self.value(entry.value, env))),
                        // `{...other, retries: 3}`
                        None => {
                            if let Data::Record(inner) = self.value(entry.value, env).data {
                                all.extend(inner.into_iter().take(ELEMENTS));
                            }
                        }
                    }
                }
                Some(self.exact(id, Data::Record(all)))
            }
            Kind::List(all) => {
                let all = all.iter().take(ELEMENTS).map(|id| self.value(*id, env)).collect();
                Some(self.exact(id, Data::List(all)))
            }
            Kind::Await(of) | Kind::Propagate(of) => Some(self.value(*of, env)),
            Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                Some(self.value(*value, env))
            }
            Kind::Block(all) | Kind::Other(all) => match all[..] {
                [only] => Some(self.value(only, env)),
                _ => None,
            },
            Kind::Return(Some(value)) => Some(self.value(*value, env)),
            _ => None,
        }
    }

    fn unary(&self, op: Op, of: Id, env: Environment<'_>) -> Option<Value> {
        let mut value = self.value(of, env);
        if op == Op::Not {
            value.data = Data::Bool(!value.truth()?);
            return Some(value);
        }
        value.data = match (op, value.data) {
            (Op::Subtract, Data::Number(number)) => Data::Number(-number),
            (Op::Subtract, Data::Duration(ms)) => Data::Duration(-ms),
            (Op::Subtract, Data::Interval { low, high, duration }) => {
                Data::Interval { low: -high, high: -low, duration }
            }
            // `+x`, `*x`, `&x`.
            (Op::Other | Op::Add | Op::Multiply | Op::BitAnd, data) => data,
            _ => return None,
        };
        Some(value)
    }

    fn binary(&self, op: Op, left: Id, right: Id, env: Environment<'_>) -> Option<Value> {
        let a = self.value(left, env);
        match op {
            Op::Or | Op::Else => {
                return Some(match a.truth() {
                    Some(true) => a,
                    Some(false) if op == Op::Else && a.data != Data::Null => a,
                    Some(false) => self.value(right, env).at_most(a.trust),
                    None if a.is_known() => a,
                    None => {
                        let trust = self.source_trust(left);
                        self.value(right, env).at_most(trust)
                    }
                });
            }
            Op::And => {
                return match a.truth()? {
                    true => Some(self.value(right, env)),
                    false => Some(a),
                };
            }
            _ => {}
        }
        let b = self.value(right, env);
        if let Some(value) = binary(op, &a, &b) {
            return Some(value);
        }
        // A sum with a random part is random, whatever the rest is.
        (a.random || b.random).then(|| {
            let mut value = if a.random { self.unknown(left) } else { self.unknown(right) };
            value.random = true;
            value
        })
    }

    /// What an unknown value that has a default is: from the environment, or from a caller.
    pub(super) fn source_trust(&self, id: Id) -> Trust {
        let text = self.tree.source(id).to_ascii_lowercase();
        if text.contains("env") { Trust::Environment } else { Trust::Usual }
    }
}

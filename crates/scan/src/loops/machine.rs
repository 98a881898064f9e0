//! A small abstract interpreter: it runs a piece of a tree under the assumption that one operation
//! always fails, or always succeeds, and writes down how often the operation was called and what
//! was waited for in between.
//!
//! Time stands still, unknown numbers stand for themselves by a witness, and a condition that
//! cannot be told goes the way that does not leave: "is it worth another attempt" is yes, "were we
//! cancelled" is no. [`Plan::flips`] turns single decisions around.

mod another;
mod builtin;
mod call;
mod caller;
mod channel;
mod counter;
mod counting;
mod decision;
mod expression;
mod flow;
mod handed;
mod later;
mod lists;
mod names;
mod operate;
mod pattern;
mod pause;
mod promised;
mod question;
mod state;
mod told;
mod usual;
mod written;

pub(crate) use usual::is_quantity;

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::file::File;
use super::value::{Num, Part, Value};
use crate::language::Language;
use crate::tree::{Id, Kind, Op, Tree};

/// More calls than this are taken for endless.
pub(super) const ENDLESS: u32 = 1000;

/// And these many, if nothing is counted.
const ENDLESS_UNCOUNTED: u32 = 40;

/// So many steps without a call of the operation, and there will be none.
const IDLE: u32 = 2_500;

/// How the operation behaves in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It raises.
    Throws,
    /// It gives a bad result.
    Bad,
    /// It goes well, and its answer says that it did not: `resp.errors`.
    Said,
    /// It goes well.
    Good,
}

/// What a run assumes.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The calls that are the operation.
    pub(super) ops: HashSet<Id>,
    /// What they do.
    pub(super) fate: Fate,
    /// The loop that is looked at, if it is one.
    pub(super) subject: Option<Id>,
    /// The function that calls itself, if it is one.
    pub(super) recursive: Option<Id>,
    /// Where to begin: a statement, or a function to call.
    pub(super) entry: Id,
    /// Arguments for `recursive`, by the call that gives them.
    pub(super) arguments: Option<Id>,
    /// Conditions that are decided against the rule.
    pub(super) flips: HashSet<Id>,
    /// Whether a server says how long to wait.
    pub(super) hints: bool,
    /// Whether all calls of one round are one attempt.
    pub(super) batch: bool,
    /// Added to the witness of each unknown number: a second run with another tells what depends
    /// on it.
    pub(super) bump: f64,
    /// Whether it is added to those with a default, too.
    pub(super) defaults: bool,
    /// The most steps.
    pub(super) steps: u32,
    /// After so many calls of the operation nothing more is asked.
    pub(super) calls: u32,
}

/// An unknown number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Symbol {
    /// As written.
    pub(super) text: String,
    /// What it is if nobody says otherwise.
    pub(super) usual: Option<f64>,
    /// What stands for it.
    pub(super) witness: f64,
}

/// Why a run was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It took too many steps.
    Steps,
    /// The operation was called [`ENDLESS`] times, or as often as the plan has use for.
    Endless,
    /// It calls itself too deeply.
    Depth,
}

/// How the failure was noticed; a set of bits.
pub(super) mod seen {
    /// A handler caught it.
    pub(crate) const CAUGHT: u8 = 1;
    /// An error value was looked at.
    pub(crate) const ERROR: u8 = 2;
    /// A status code was compared.
    pub(crate) const STATUS: u8 = 4;
    /// `ok` and the like.
    pub(crate) const FLAG: u8 = 8;
    /// The result was false, empty, null.
    pub(crate) const FALSY: u8 = 16;
    /// Something in the result that only the application understands.
    pub(crate) const DOMAIN: u8 = 32;
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wait {
    /// After so many calls of the operation.
    pub(super) after: u32,
    /// How long, in milliseconds.
    pub(super) ms: Num,
    /// Where.
    pub(super) at: Id,
}

/// What a run saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    /// Calls of the operation.
    pub(super) calls: u32,
    /// The waits.
    pub(super) waits: Vec<Wait>,
    /// How the failure was noticed.
    pub(super) seen: u8,
    /// Conditions that could not be told, with what was decided.
    pub(super) undecided: Vec<(Id, bool)>,
    /// Those of them that are about what the operation gave.
    pub(super) about: HashSet<Id>,
    /// Whether it was cut short.
    pub(super) cut: Option<Cut>,
    /// A clock was compared; the limit in milliseconds where it is known.
    pub(super) clock: Option<Option<f64>>,
    /// The handlers that caught the failure: their `try` and which of them.
    pub(super) handlers: Vec<(Id, usize)>,
    /// What the error had to be, as written.
    pub(super) filters: Vec<Id>,
    /// The unknown numbers.
    pub(super) symbols: Vec<Symbol>,
    /// Unknown numbers that a counter was compared with.
    pub(super) bounds: Vec<u16>,
    /// Whether the run ended by raising.
    pub(super) raised: bool,
    /// Whether numbers were compared: without, nothing counts the rounds.
    pub(super) counted: bool,
    /// Whether a loop went through a collection that is not known.
    pub(super) collection: bool,
    /// An object that is asked whether to try again was also told to prepare for it: how often and
    /// how long after is its own affair.
    pub(super) strategy: Option<Id>,
    /// Rounds of the loop that is looked at in which the operation was called.
    pub(super) rounds: u32,
}

/// How control leaves a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Exit<'s> {
    Return(Value),
    Throw,
    Break(Option<&'s str>, Value),
    Continue(Option<&'s str>),
    Again,
    Goto(&'s str),
    Cut,
}

pub(super) type Flow<'s> = Result<Value, Exit<'s>>;

struct Frame<'s> {
    vars: HashMap<&'s str, Value>,
    parent: Option<usize>,
}

/// The interpreter.
pub(super) struct Machine<'f, 't, 's> {
    file: &'f File<'t, 's>,
    tree: &'t Tree<'s>,
    plan: &'f Plan,
    frames: Vec<Frame<'s>>,
    /// The frame of what runs now. Frames stay: a function made in one may be called later.
    current: usize,
    /// Fields of objects, by their text.
    heap: HashMap<Rc<str>, Value>,
    trace: Trace,
    steps: u32,
    /// The step at which the operation was last called.
    called: u32,
    depth: u32,
    calls_deep: u32,
    /// The functions that run now.
    active: Vec<Id>,
    looking_up: u32,
    /// What the generator that runs has given so far.
    yielded: Option<Vec<Value>>,
    /// Where the helper that the loop goes through is told of a failure, and whether it was.
    tellings: Vec<Id>,
    told: bool,
}

/// Expressions nest no deeper than this.
const DEEPEST: u32 = 420;
/// A generator that gives more is not run to its end.
pub(super) const MOST_YIELDED: usize = 200;

impl<'f, 't, 's> Machine<'f, 't, 's> {
    fn new(file: &'f File<'t, 's>, plan: &'f Plan) -> Self {
        Machine {
            file,
            tree: file.tree,
            plan,
            frames: vec![Frame { vars: HashMap::new(), parent: None }],
            current: 0,
            heap: HashMap::new(),
            trace: Trace::default(),
            steps: 0,
            called: 0,
            depth: 0,
            calls_deep: 0,
            active: Vec::new(),
            looking_up: 0,
            yielded: None,
            tellings: Vec::new(),
            told: false,
        }
    }

    /// Runs a plan.
    pub(super) fn run(file: &'f File<'t, 's>, plan: &'f Plan) -> (Trace, u32) {
        let mut machine = Machine::new(file, plan);
        let end = machine.begin();
        machine.trace.raised = matches!(end, Err(Exit::Throw));
        (machine.trace, machine.steps)
    }

    /// What a function of the file gives if some of its parameters are these numbers.
    pub(super) fn answer(
        file: &File<'_, 's>,
        function: Id,
        numbers: &[(&'s str, Num)],
    ) -> Option<Num> {
        let plan = Plan {
            ops: HashSet::default(),
            fate: Fate::Bad,
            subject: None,
            recursive: None,
            entry: function,
            arguments: None,
            flips: HashSet::default(),
            hints: false,
            batch: false,
            bump: 0.0,
            defaults: false,
            steps: IDLE,
            calls: 1,
        };
        let mut machine = Machine::new(file, &plan);
        let args = numbers.iter().map(|(name, number)| (Some(*name), Value::Num(*number)));
        let args = args.collect();
        machine.invoke(function, args, 0).ok()?.num()
    }

    fn begin(&mut self) -> Flow<'s> {
        if let Some(function) = self.plan.recursive {
            let args = match self.plan.arguments {
                Some(call) => self.arguments_of(call)?,
                // Of two the later one counts: what a caller tells.
                None => {
                    let first = self.counters_at_first(function).into_iter();
                    first.chain(self.all_told(function)).collect()
                }
            };
            return self.invoke(function, args, 0);
        }
        self.frames.push(Frame { vars: HashMap::new(), parent: Some(0) });
        self.current = 1;
        // From the statement outward, so that what follows it in each block is run too.
        let mut inner = self.plan.entry;
        let mut end = self.eval(inner);
        // What comes after matters only if the operation is called there too.
        if self.plan.subject == Some(inner)
            && self.plan.ops.iter().all(|op| self.file.within(*op, inner))
        {
            return end;
        }
        let ups: Vec<Id> = self.tree.ancestors(inner).collect();
        for up in ups {
            if end == Err(Exit::Cut) || self.trace.cut.is_some() {
                break;
            }
            match self.tree.kind(up) {
                Kind::Function { .. } => break,
                Kind::Loop { .. } => {
                    // Leaving into an outer loop is leaving.
                    break;
                }
                Kind::Block(all) => {
                    if let Some(at) = all.iter().position(|child| *child == inner) {
                        end = match end {
                            Ok(_) => self.statements(all, at + 1),
                            Err(Exit::Goto(label)) => match self.label_in(all, label) {
                                Some(from) => self.statements(all, from),
                                None => Err(Exit::Goto(label)),
                            },
                            other => other,
                        };
                    }
                }
                Kind::Try { .. } if end == Err(Exit::Throw) => end = self.caught(up, inner),
                _ => {}
            }
            inner = up;
        }
        end
    }

    /// Where nobody says what a function that calls itself is first given: what it counts up
    /// begins at 0, or at the number that those who call it agree on.
    fn counters_at_first(&self, function: Id) -> Vec<(Option<&'s str>, Value)> {
        let tree = self.tree;
        let Kind::Function { params, .. } = tree.kind(function) else { return Vec::new() };
        let Some(name) = self.file.function_name(function) else { return Vec::new() };
        let (mut inner, mut outer) = (Vec::new(), Vec::new());
        for call in self.file.calls(name) {
            let Kind::Call { args, .. } = tree.kind(*call) else { continue };
            if self.file.within(*call, function) { inner.push(args) } else { outer.push(args) }
        }
        let counted = params.iter().enumerate().filter(|(at, param)| {
            param.default.is_none()
                && inner.iter().any(|args| {
                    args.get(*at).is_some_and(|arg| {
                        is_one_more(tree, self.named_once(arg.value), param.name)
                    })
                })
        });
        counted
            .map(|(at, param)| {
                let first = outer.iter().filter_map(|args| match tree.kind(args.get(at)?.value) {
                    Kind::Number(number) => Some(*number),
                    _ => None,
                });
                let first = first.fold(None, |least: Option<f64>, number| {
                    Some(least.map_or(number, |least| least.min(number)))
                });
                (Some(param.name), Value::number(first.unwrap_or(0.0)))
            })
            .collect()
    }

    /// What a name of a function stands for that is set once: `next := attempt + 1`.
    fn named_once(&self, id: Id) -> Id {
        let tree = self.tree;
        let Kind::Name(name) = tree.kind(id) else { return id };
        match self.file.assigned(name) {
            [only] if tree.function_of(*only) == tree.function_of(id) => match tree.kind(*only) {
                Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                    *value
                }
                _ => id,
            },
            _ => id,
        }
    }

    /// Runs a node and gives its value.
    fn eval(&mut self, id: Id) -> Flow<'s> {
        self.steps += 1;
        if self.steps > self.plan.steps || self.steps - self.called > IDLE {
            return self.cut(Cut::Steps);
        }
        if self.depth >= DEEPEST {
            return self.cut(Cut::Depth);
        }
        self.depth += 1;
        let result = self.node(id);
        self.depth -= 1;
        result
    }

    fn cut(&mut self, why: Cut) -> Flow<'s> {
        self.trace.cut.get_or_insert(why);
        Err(Exit::Cut)
    }

    fn failing(&self) -> bool {
        self.plan.fate != Fate::Good
    }

    fn node(&mut self, id: Id) -> Flow<'s> {
        let tree = self.tree;
        match tree.kind(id) {
            Kind::Name(_) | Kind::Field { .. } | Kind::Index { .. } => self.place(id),
            Kind::Call { .. } => self.call(id),
            Kind::Number(value) => Ok(Value::number(*value)),
            Kind::Text(text) => Ok(Value::Text(text.as_ref().into())),
            Kind::Bool(value) => Ok(Value::Bool(*value)),
            Kind::Null => Ok(Value::Null),
            Kind::Unary { op, of } => self.unary(id, *op, *of),
            Kind::Binary { op, left, right } => self.binary(id, *op, *left, *right),
            Kind::Assign { op, target, value } => self.assign(id, *op, *target, *value),
            Kind::Step { of, by, before } => self.step(*of, f64::from(*by), *before),
            Kind::List(all) => {
                let mut values = Vec::with_capacity(all.len().min(64));
                for one in all.iter().take(256) {
                    let value = self.eval(*one)?;
                    // `[0, ...delays]`.
                    match value {
                        Value::List(all) if self.is_spread(*one) && all.len() <= 256 => {
                            values.extend(all.iter().cloned());
                        }
                        value => values.push(self.counted_down(*one, value)),
                    }
                }
                Ok(Value::List(values.into()))
            }
            Kind::Await(of) => match self.eval(*of)? {
                Value::Rejected => Err(Exit::Throw),
                Value::Timer(num) if self.file.language == Language::Rust => {
                    self.wait(id, num);
                    Ok(Value::Unknown)
                }
                other => Ok(other),
            },
            Kind::Propagate(of) => match self.eval(*of)? {
                Value::Outcome(_, true) if self.plan.fate == Fate::Said => {
                    Ok(Value::Outcome(Part::Whole, true))
                }
                Value::Outcome(_, true) | Value::Rejected => Err(Exit::Throw),
                other => Ok(other),
            },
            Kind::Let { target, value, ty, .. } => self.declare(id, *target, *value, *ty),
            Kind::Function { name, .. } => {
                let value = Value::Function(id, self.current);
                if let Some(name) = name {
                    self.set_here(name, value.clone());
                }
                Ok(value)
            }
            Kind::Block(all) => self.statements(all, 0),
            Kind::If { test, then, otherwise } => self.branch(id, *test, *then, *otherwise),
            Kind::Loop { form, label, body, otherwise } => {
                self.run_loop(id, form, *label, *body, *otherwise)
            }
            Kind::Try { .. } => self.attempt(id),
            Kind::Match { of, arms } => self.choose(id, *of, arms),
            Kind::Return(value) => {
                let value = self.maybe(*value)?;
                Err(Exit::Return(value))
            }
            Kind::Throw(value) => {
                self.maybe(*value)?;
                Err(Exit::Throw)
            }
            Kind::Break { label, value } => {
                let value = self.maybe(*value)?;
                Err(Exit::Break(*label, value))
            }
            Kind::Continue(label) => Err(Exit::Continue(*label)),
            Kind::Again => Err(Exit::Again),
            Kind::Goto(label) => Err(Exit::Goto(label)),
            Kind::Yield(value) => {
                let value = self.maybe(*value)?;
                if let Some(all) = self.yielded.as_mut().filter(|all| all.len() < MOST_YIELDED) {
                    all.push(value);
                }
                Ok(Value::Unknown)
            }
            Kind::Spawn(of) => {
                self.eval(*of)?;
                Ok(Value::Unknown)
            }
            // What is deferred runs when all is over.
            Kind::Defer(_) | Kind::Class { .. } | Kind::Import { .. } | Kind::Label(_) => {
                Ok(Value::Null)
            }
            Kind::With { items, body } => {
                for item in items {
                    self.eval(*item)?;
                }
                self.eval(*body)
            }
            Kind::Range { from, to, .. } => {
                self.maybe(*from)?;
                self.maybe(*to)?;
                Ok(Value::Unknown)
            }
            Kind::Record { entries, .. } => {
                for entry in entries.iter().take(256) {
                    if !matches!(tree.kind(entry.value), Kind::Function { .. }) {
                        self.eval(entry.value)?;
                    }
                }
                Ok(Value::Unknown)
            }
            Kind::Other(all) => {
                if let Some(value) = self.sent(id, all)? {
                    return Ok(value);
                }
                let mut outcome = Value::Unknown;
                for one in all.iter().take(256) {
                    let value = self.eval(*one)?;
                    if value.is_outcome() || all.len() == 1 {
                        outcome = value;
                    }
                }
                Ok(outcome)
            }
        }
    }

    fn maybe(&mut self, id: Option<Id>) -> Flow<'s> {
        match id {
            Some(id) => self.eval(id),
            None => Ok(Value::Null),
        }
    }
}

/// Whether an expression is one more than a name: `n + 1`, `++n`.
fn is_one_more(tree: &Tree<'_>, id: Id, name: &str) -> bool {
    let is_name = |id: Id| matches!(tree.kind(id), Kind::Name(known) if *known == name);
    match tree.kind(id) {
        Kind::Binary { op: Op::Add, left, right } => {
            let number = |id: Id| matches!(tree.kind(id), Kind::Number(_));
            is_name(*left) && number(*right) || number(*left) && is_name(*right)
        }
        Kind::Step { of, by: 1, .. } => is_name(*of),
        _ => false,
    }
}

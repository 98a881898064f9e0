//! One tree for all languages.
//!
//! A retry looks the same in Go and in Kotlin: a loop, a call, a failure, a wait. Each language is
//! lowered (`lower/`) from its own syntax to this tree, and everything after that (values,
//! libraries, loops) is written once. What has no place here is kept as [`Kind::Other`] with its
//! children, so that nothing inside is lost.
//!
//! Nodes live in one arena; an [`Id`] is an index. A node comes after its children, and
//! [`Tree::parent`] leads upward.

mod build;
mod show;
mod walk;

pub use build::{Builder, MAX_DEPTH};
pub use walk::Walk;

use std::borrow::Cow;

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) u32);

/// Where something is: lines count from 1, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// A node: what it is and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'s> {
    /// What it is.
    pub kind: Kind<'s>,
    /// Where.
    pub span: Span,
}

/// An operator. Words of a language are mapped to these: `and` is [`Op::And`], `===` is
/// [`Op::Equal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `+`
    Add,
    /// `-`, also of one operand
    Subtract,
    /// `*`
    Multiply,
    /// `/`, `//`
    Divide,
    /// `%`
    Remainder,
    /// `**`
    Power,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&&`, `and`
    And,
    /// `||`, `or`
    Or,
    /// `??`, `?:` of Kotlin, `or` where it gives a default
    Else,
    /// `!`, `not`
    Not,
    /// `==`, `===`, `is` of identity
    Equal,
    /// `!=`, `!==`, `is not`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// A pattern: `if let Err(e) = x`, `x is Foo`, `instanceof`, `matches!`
    Matches,
    /// Anything else.
    Other,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg<'s> {
    /// The keyword, if it has one.
    pub name: Option<&'s str>,
    /// The value.
    pub value: Id,
    /// `*args`, `...rest`.
    pub spread: bool,
}

/// One entry of a [`Kind::Record`].
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'s> {
    /// The key where it is a name or a text; `None`: computed or spread.
    pub key: Option<Cow<'s, str>>,
    /// The value.
    pub value: Id,
}

/// One parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Param<'s> {
    /// Its name.
    pub name: &'s str,
    /// What it is if nobody gives it.
    pub default: Option<Id>,
    /// Its type as written.
    pub ty: Option<&'s str>,
}

/// `except`, `catch`, `rescue`.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler<'s> {
    /// What it catches, as written; none: everything.
    pub types: Vec<Id>,
    /// The name it gives it.
    pub name: Option<&'s str>,
    /// `when (…)` of C#.
    pub guard: Option<Id>,
    /// What it does: a [`Kind::Block`].
    pub body: Id,
}

/// `case`, an arm of `match`, `when`, `switch` or `select`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Patterns, values, or the communication of a Go `select`; none: the default.
    pub patterns: Vec<Id>,
    /// `if` after the pattern.
    pub guard: Option<Id>,
    /// What it does.
    pub body: Id,
}

/// How a loop goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopForm {
    /// `loop`, `for {}`, `while true`, `for (;;)`.
    Endless,
    /// As long as this holds, looked at before each round.
    While(Id),
    /// As long as this holds, looked at after each round.
    DoWhile(Id),
    /// `for (init; test; step)`.
    Counted {
        /// Before the first round.
        init: Option<Id>,
        /// Before each round.
        test: Option<Id>,
        /// After each round.
        step: Option<Id>,
    },
    /// For each element; `n.times`, `repeat(n)`, `for range n` are over [`Kind::Range`].
    Each {
        /// What holds the element, a name or a pattern; `None`: it has no name.
        var: Option<Id>,
        /// What it goes through.
        over: Id,
    },
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'s> {
    /// A name; `self` and `this` too.
    Name(&'s str),
    /// `of.name`, `of?.name`, `of->name`, `of::name`.
    Field {
        /// What it belongs to.
        of: Id,
        /// The last part.
        name: &'s str,
    },
    /// `of[at]`.
    Index {
        /// What is looked into.
        of: Id,
        /// Where.
        at: Id,
    },
    /// A call, a construction (`new`), a macro. A trailing block or closure is the last argument.
    Call {
        /// What is called.
        callee: Id,
        /// With what.
        args: Vec<Arg<'s>>,
        /// Whether it constructs: `new Foo()`.
        new: bool,
    },
    /// A number without its suffix; digit separators are gone.
    Number(f64),
    /// A text without its quotes. With placeholders: as written.
    Text(Cow<'s, str>),
    /// `true`, `false`.
    Bool(bool),
    /// `None`, `null`, `nil`, `undefined`.
    Null,
    /// One operand.
    Unary {
        /// Which.
        op: Op,
        /// Of what.
        of: Id,
    },
    /// Two operands.
    Binary {
        /// Which.
        op: Op,
        /// The left one.
        left: Id,
        /// The right one.
        right: Id,
    },
    /// `target = value`, or `target op= value`. Several targets: [`Kind::List`].
    Assign {
        /// Of `op=`.
        op: Option<Op>,
        /// What changes.
        target: Id,
        /// To what.
        value: Id,
    },
    /// `x++`, `--x`.
    Step {
        /// What changes.
        of: Id,
        /// By how much: 1 or -1.
        by: i8,
        /// Whether the expression has the new value: `++x`.
        before: bool,
    },
    /// A dictionary, an object literal, a struct literal, an object initialiser.
    Record {
        /// Its type, where one is written.
        ty: Option<Id>,
        /// What is in it.
        entries: Vec<Entry<'s>>,
    },
    /// A list, a tuple, a set, an array.
    List(Vec<Id>),
    /// `from..to`, `range(from, to)`, `n.times`.
    Range {
        /// The first; `None`: 0 or the start.
        from: Option<Id>,
        /// The end; `None`: none.
        to: Option<Id>,
        /// Whether the end belongs to it.
        inclusive: bool,
    },
    /// `await x`, `x.await`.
    Await(Id),
    /// `x?` of Rust, `try x`: a failure leaves the function.
    Propagate(Id),
    /// A variable, a constant, a field with its value.
    Let {
        /// A name or a pattern.
        target: Id,
        /// Its type as written.
        ty: Option<&'s str>,
        /// Its value.
        value: Option<Id>,
        /// Whether it cannot change: `const`, `final`, `val`, `static readonly`.
        constant: bool,
    },
    /// A function, a method, a closure.
    Function {
        /// `None`: a closure.
        name: Option<&'s str>,
        /// Without `self`.
        params: Vec<Param<'s>>,
        /// A [`Kind::Block`], or an expression.
        body: Id,
        /// Decorators, annotations, attributes: names or calls.
        decorators: Vec<Id>,
        /// `async`, `suspend`.
        is_async: bool,
    },
    /// A class, a struct with methods, an `impl`, an object, an interface.
    Class {
        /// Its name; of an `impl` the type's.
        name: Option<&'s str>,
        /// Base classes, interfaces, the trait of an `impl`.
        bases: Vec<Id>,
        /// Decorators, annotations, attributes.
        decorators: Vec<Id>,
        /// A [`Kind::Block`].
        body: Id,
    },
    /// One imported name; several in one statement are several nodes. How `module`, `item` and
    /// `alias` are meant in each language is said at its lowering.
    Import {
        /// `requests.adapters`, `github.com/cenkalti/backoff/v4`, `p-retry`, `backon`.
        module: Cow<'s, str>,
        /// The name taken from it; `None`: the module itself. `"default"`: a default export.
        item: Option<&'s str>,
        /// What it is called here; `None`: as it is called there.
        alias: Option<&'s str>,
        /// `from x import *`, `import x.*`, `use x::*`, `using X`.
        all: bool,
    },
    /// Statements in order.
    Block(Vec<Id>),
    /// `if`, `unless` (with [`Op::Not`]), `?:`.
    If {
        /// The question.
        test: Id,
        /// If so.
        then: Id,
        /// If not.
        otherwise: Option<Id>,
    },
    /// A loop.
    Loop {
        /// How it goes on.
        form: LoopForm,
        /// Its label.
        label: Option<&'s str>,
        /// A [`Kind::Block`].
        body: Id,
        /// `else` of Python's loops.
        otherwise: Option<Id>,
    },
    /// `try`, `begin`.
    Try {
        /// A [`Kind::Block`].
        body: Id,
        /// What catches.
        handlers: Vec<Handler<'s>>,
        /// If nothing was raised.
        otherwise: Option<Id>,
        /// In any case.
        finally: Option<Id>,
    },
    /// `match`, `switch`, `when`, Go's `select` (without a subject).
    Match {
        /// The subject.
        of: Option<Id>,
        /// The arms.
        arms: Vec<Arm>,
    },
    /// `return`. The value of a Rust or Kotlin block that is its last expression is not one.
    Return(Option<Id>),
    /// `raise`, `throw`, `panic!`.
    Throw(Option<Id>),
    /// `break`, with its label and, in Rust, its value.
    Break {
        /// Which loop; `"switch"`: the nearest [`Kind::Match`], of a `break` that leaves a
        /// `switch` and does not stand at its end.
        label: Option<&'s str>,
        /// What the loop gives.
        value: Option<Id>,
    },
    /// `continue`, `next`.
    Continue(Option<&'s str>),
    /// `retry` of Ruby.
    Again,
    /// `goto`.
    Goto(&'s str),
    /// A label of `goto`, before the statement it names.
    Label(&'s str),
    /// `yield`.
    Yield(Option<Id>),
    /// `go f()`.
    Spawn(Id),
    /// `defer f()`.
    Defer(Id),
    /// `with`, `using`, resources of Java's `try`.
    With {
        /// What is held meanwhile.
        items: Vec<Id>,
        /// A [`Kind::Block`].
        body: Id,
    },
    /// Anything else.
    Other(Vec<Id>),
}

/// A file's tree.
#[derive(Clone, Debug)]
pub struct Tree<'s> {
    text: &'s str,
    nodes: Vec<Node<'s>>,
    parents: Vec<u32>,
    root: Id,
    broken: bool,
    too_deep: bool,
}

impl<'s> Tree<'s> {
    /// The whole file, a [`Kind::Block`].
    #[must_use]
    pub fn root(&self) -> Id {
        self.root
    }

    /// The text it was read from.
    #[must_use]
    pub fn text(&self) -> &'s str {
        self.text
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none; a tree has at least its root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether the syntax had errors: what stands near them may be missing.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// Whether something was nested deeper than [`MAX_DEPTH`] and was left out.
    #[must_use]
    pub fn too_deep(&self) -> bool {
        self.too_deep
    }

    /// What a node is.
    #[must_use]
    pub fn kind(&self, id: Id) -> &Kind<'s> {
        &self.nodes[id.0 as usize].kind
    }

    /// Where a node is.
    #[must_use]
    pub fn span(&self, id: Id) -> Span {
        self.nodes[id.0 as usize].span
    }

    /// A node's text.
    #[must_use]
    pub fn source(&self, id: Id) -> &'s str {
        let span = self.span(id);
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// What a node stands in; `None` for the root.
    #[must_use]
    pub fn parent(&self, id: Id) -> Option<Id> {
        let parent = self.parents[id.0 as usize];
        (parent != u32::MAX).then_some(Id(parent))
    }

    /// What a node stands in, from the nearest outward.
    pub fn ancestors(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(self.parent(id), |&id| self.parent(id))
    }

    /// The function a node stands in.
    #[must_use]
    pub fn function_of(&self, id: Id) -> Option<Id> {
        self.ancestors(id).find(|&up| matches!(self.kind(up), Kind::Function { .. }))
    }

    /// The class a node stands in.
    #[must_use]
    pub fn class_of(&self, id: Id) -> Option<Id> {
        self.ancestors(id).find(|&up| matches!(self.kind(up), Kind::Class { .. }))
    }

    /// Whether a name is handed to a function that it stands in: a function of the file with the
    /// same name is another.
    #[must_use]
    pub fn is_parameter(&self, id: Id) -> bool {
        let Kind::Name(name) = self.kind(id) else { return false };
        self.ancestors(id).any(|up| match self.kind(up) {
            Kind::Function { params, .. } => params.iter().any(|param| param.name == *name),
            _ => false,
        })
    }

    /// The name of a function: its own, or that of what it is given to.
    #[must_use]
    pub fn function_name(&self, function: Id) -> Option<&'s str> {
        if let Kind::Function { name: Some(name), .. } = self.kind(function) {
            return Some(name);
        }
        match self.kind(self.parent(function)?) {
            Kind::Let { target, .. } | Kind::Assign { target, .. } => self.last_name(*target),
            _ => None,
        }
    }

    /// Every node, children before parents.
    pub fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(Id)
    }

    /// `a.b.c` of names and fields as their parts, `["a", "b", "c"]`; `None` if anything else is
    /// in it. `this.x` and `self.x` keep their first word.
    #[must_use]
    pub fn path(&self, id: Id) -> Option<Vec<&'s str>> {
        let mut parts = Vec::new();
        let mut at = id;
        loop {
            match self.kind(at) {
                Kind::Name(name) => {
                    parts.push(*name);
                    parts.reverse();
                    return Some(parts);
                }
                Kind::Field { of, name } => {
                    parts.push(*name);
                    at = *of;
                }
                _ => return None,
            }
        }
    }

    /// The last part of a name or a field: of `a.b.c` and of `f().c` it is `c`.
    #[must_use]
    pub fn last_name(&self, id: Id) -> Option<&'s str> {
        match self.kind(id) {
            Kind::Name(name) | Kind::Field { name, .. } => Some(name),
            _ => None,
        }
    }
}

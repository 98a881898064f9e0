//! What may be a retry: loops, functions that call themselves, jumps backward, the same call
//! twice. And in each, which calls may be the operation.

mod anew;
mod answers;
mod batch;
mod in_vain;
mod later;
mod makes;
mod numbered;
mod once;
mod operation;
mod pause;
mod repeat;
mod same;
mod tested;

use foldhash::{HashSet, HashSetExt as _};

use super::file::File;
use super::words;
use crate::language::Language;
use crate::tree::{Id, Kind, LoopForm};

pub(super) use answers::{changed_by, told_through};
use operation::{derived, may_be_operation, operations};
pub(super) use pause::pauses_between;
use repeat::repeats;
use same::continues;
pub(super) use same::{advances, pages, root, turns};

/// The form of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Counted,
    Each,
    While,
    Endless,
    Recursion,
    Again,
    Goto,
    Repeat,
    Iterator,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Counted => "counted-loop",
            Self::Each => "loop-over-range",
            Self::While => "while-loop",
            Self::Endless => "endless-loop",
            Self::Recursion => "recursion",
            Self::Again => "retry-keyword",
            Self::Goto => "goto",
            Self::Repeat => "repeated-once",
            Self::Iterator => "lazy-iterator",
        }
    }
}

/// Something that may be a retry.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) shape: Shape,
    /// Where a run begins.
    pub(super) entry: Id,
    /// The loop.
    pub(super) subject: Option<Id>,
    /// The function that calls itself.
    pub(super) recursive: Option<Id>,
    /// Where it is: the loop, the function, the `try`.
    pub(super) place: Id,
    /// The calls that may be the operation: each group is one operation.
    pub(super) groups: Vec<Vec<Id>>,
}

/// More calls than this in one place are not looked at.
const MOST_GROUPS: usize = 10;

/// All candidates of a file, the inner ones first.
pub(super) fn all(file: &File<'_, '_>) -> Vec<Candidate> {
    let tree = file.tree;
    let mut out = Vec::new();
    for id in tree.ids() {
        match tree.kind(id) {
            Kind::Loop { form, .. } => out.extend(a_loop(file, id, form)),
            Kind::Try { body, handlers, .. } => {
                let once = handlers.iter().find_map(|it| later::in_a_handler(file, *body, it.body));
                out.extend(once);
                let again = handlers.iter().any(|handler| {
                    tree.walk(handler.body).any(|at| matches!(tree.kind(at), Kind::Again))
                });
                if again {
                    let groups = operations(file, id, &HashSet::new(), None);
                    out.push(Candidate {
                        shape: Shape::Again,
                        entry: id,
                        subject: None,
                        recursive: None,
                        place: id,
                        groups,
                    });
                }
            }
            Kind::Block(all) => out.extend(gotos(file, id, all)),
            Kind::Function { body, .. } => {
                out.extend(repeats(file, *body));
            }
            Kind::Call { callee, args, .. } => {
                out.extend(once::in_a_chain(file, id));
                if let (Kind::Field { of, name }, [function, rest @ ..]) =
                    (tree.kind(*callee), &args[..])
                    && match *name {
                        "find_map" | "any" | "find" | "some" => {
                            rest.is_empty() && matches!(tree.kind(*of), Kind::Range { .. })
                        }
                        "reduce" => rest.len() == 1 && catches_the_last(file, function.value),
                        _ => false,
                    }
                    && let Some(entry) = statement(file, id)
                {
                    out.push(an_iterator(file, id, entry, function.value));
                }
            }
            _ => {}
        }
    }
    out.extend(repeats(file, tree.root()));
    out.extend(recursions(file));
    out.retain(|candidate| !candidate.groups.is_empty());
    out
}

/// Whether a function for `reduce` goes on where the last round failed: `(p) => p.catch(…)`.
fn catches_the_last(file: &File<'_, '_>, function: Id) -> bool {
    let tree = file.tree;
    let Kind::Function { params, body, .. } = tree.kind(function) else { return false };
    let Some(last) = params.first() else { return false };
    tree.walk(*body).any(|at| match tree.kind(at) {
        Kind::Field { of, name: "catch" } => {
            matches!(tree.kind(*of), Kind::Name(name) if *name == last.name)
        }
        _ => false,
    })
}

/// A function that is called for one element after the other until it gives something.
fn an_iterator(file: &File<'_, '_>, place: Id, entry: Id, function: Id) -> Candidate {
    let tree = file.tree;
    let calls = tree.walk(function).filter(|call| match tree.kind(*call) {
        Kind::Call { callee, new, .. } => may_be_operation(file, *call, *callee, *new),
        _ => false,
    });
    Candidate {
        shape: Shape::Iterator,
        entry,
        subject: None,
        recursive: None,
        place,
        groups: calls.map(|call| vec![call]).take(MOST_GROUPS).collect(),
    }
}

fn a_loop(file: &File<'_, '_>, id: Id, form: &LoopForm) -> Option<Candidate> {
    let tree = file.tree;
    let mut vars = HashSet::new();
    let shape = match form {
        LoopForm::Endless => Shape::Endless,
        LoopForm::While(test) | LoopForm::DoWhile(test) => {
            // `while ((other = pending.get(key)))`: another one in each round.
            for at in tree.walk_here(*test) {
                if let Kind::Assign { op: None, target, value } = tree.kind(at)
                    && matches!(tree.kind(*value), Kind::Call { .. })
                {
                    vars.extend(tree.last_name(*target));
                }
            }
            Shape::While
        }
        LoopForm::Counted { init, step, .. } => {
            // What the head only begins with is counted by the body, if at all: `i, left := 0, limit`.
            let parts = if step.is_some() { step } else { init };
            if let Some(part) = parts {
                for at in tree.walk(*part) {
                    let target = match tree.kind(at) {
                        Kind::Let { target, .. } | Kind::Assign { target, .. } => *target,
                        Kind::Step { of, .. } => *of,
                        _ => continue,
                    };
                    vars.extend(tree.last_name(target));
                }
            }
            if init.is_none() && step.is_none() { Shape::While } else { Shape::Counted }
        }
        LoopForm::Each { var, .. } => {
            if let Some(var) = var {
                vars.extend(tree.walk(*var).filter_map(|at| tree.last_name(at)));
            }
            Shape::Each
        }
    };
    vars.remove("_");
    let derived = derived(file, id, vars);
    let groups = operations(file, id, &derived, Some(id));
    (!groups.is_empty()).then_some(Candidate {
        shape,
        entry: id,
        subject: Some(id),
        recursive: None,
        place: id,
        groups,
    })
}

fn gotos(file: &File<'_, '_>, block: Id, all: &[Id]) -> Option<Candidate> {
    let tree = file.tree;
    let (at, label) = all.iter().enumerate().find_map(|(at, id)| match tree.kind(*id) {
        Kind::Label(name) => Some((at, *name)),
        _ => None,
    })?;
    let back = all[at..].iter().any(|id| {
        tree.walk(*id).any(|one| matches!(tree.kind(one), Kind::Goto(to) if *to == label))
    });
    if !back {
        return None;
    }
    let start = tree.span(all[at]).start;
    let mut groups = operations(file, block, &HashSet::new(), None);
    groups.retain(|calls| calls.iter().all(|call| tree.span(*call).start >= start));
    Some(Candidate {
        shape: Shape::Goto,
        entry: all[at],
        subject: None,
        recursive: None,
        place: all.get(at + 1).copied().unwrap_or(all[at]),
        groups,
    })
}

/// Functions that call themselves, or another that calls them.
fn recursions(file: &File<'_, '_>) -> Vec<Candidate> {
    let tree = file.tree;
    let mut out = Vec::new();
    let mut functions: Vec<(&str, Id)> = file.all_functions().collect();
    functions.sort_by_key(|(_, id)| *id);
    functions.dedup_by_key(|(_, id)| *id);
    for (name, function) in functions {
        let Kind::Function { body, .. } = tree.kind(function) else { continue };
        let inner: Vec<Id> = file
            .calls(name)
            .iter()
            .copied()
            .filter(|call| {
                file.within(*call, *body)
                    && file.takes(function, *call)
                    && (file.callee(*call) == Some(function) || own_call(file, *call, function))
            })
            .collect();
        // One that asks for something else walks a structure.
        if !inner.is_empty() && !inner.iter().any(|call| continues(file, *call, function)) {
            continue;
        }
        let itself = !inner.is_empty() || hands_itself_on(file, name, *body);
        let mutual = !itself
            && (tree.class_of(function).is_some() && file.language != Language::Go
                || words::speaks_of_again(tree.source(function)))
            && file.calls(name).iter().any(|call| {
                // A timer's closure stands between: `AfterFunc(d, func() { s.send(n + 1) })`.
                let others = tree.ancestors(*call).filter(|up| {
                    matches!(tree.kind(*up), Kind::Function { .. })
                        && file.function_name(*up).is_some()
                });
                others.into_iter().any(|other| {
                    other != function
                        && file.callee(*call) == Some(function)
                        && file.same_class(other, function)
                        && file.function_name(other).is_some_and(|other_name| {
                            file.calls(other_name).iter().any(|back| {
                                file.within(*back, *body) && file.callee(*back) == Some(other)
                            })
                        })
                })
            });
        if !itself && !mutual {
            continue;
        }
        let mut groups = operations(file, *body, &HashSet::new(), None);
        groups.retain(|calls| calls.iter().all(|call| file.callee(*call) != Some(function)));
        // What has the same name and belongs to something else is not itself:
        // `self.session.request()` in `request`.
        groups.retain(|calls| {
            calls.iter().all(|call| match tree.kind(*call) {
                Kind::Call { callee, .. } => {
                    tree.last_name(*callee) != Some(name) || of_another(file, *callee)
                }
                _ => false,
            })
        });
        groups.retain(|calls| {
            !inner.iter().all(|own| same::given_otherwise(file, *own, function, calls[0]))
                || inner.is_empty()
        });
        out.push(Candidate {
            shape: Shape::Recursion,
            entry: function,
            subject: None,
            recursive: Some(function),
            place: function,
            groups,
        });
    }
    out
}

/// `setTimeout(connect, 1000)` inside of `connect`, `loop.call_later(5, self.connect)`.
fn hands_itself_on(file: &File<'_, '_>, name: &str, body: Id) -> bool {
    let tree = file.tree;
    // Or one that does nothing but call it where that makes sense: `maybeConnect`.
    let leads_here = |other: &str| {
        other == name
            || match file.functions(other) {
                [only] => match tree.kind(*only) {
                    Kind::Function { body: other, .. } => file.calls(name).iter().any(|call| {
                        file.within(*call, *other)
                            && file
                                .callee(*call)
                                .is_some_and(|function| file.within(body, function))
                    }),
                    _ => false,
                },
                _ => false,
            }
    };
    let own = |id: Id| match tree.kind(id) {
        Kind::Name(other) => leads_here(other),
        Kind::Field { of, name: other } => {
            tree.last_name(*of).is_some_and(|of| of.len() <= 4) && leads_here(other)
        }
        _ => false,
    };
    tree.walk(body).any(|at| match tree.kind(at) {
        Kind::Call { callee, args, .. } => {
            // Also to what says that it tries again: `this.later(this.connect)`.
            let later = |last: &str| words::schedules(last) || words::says_later(last);
            tree.last_name(*callee).is_some_and(later) && args.iter().any(|arg| own(arg.value))
        }
        _ => false,
    })
}

/// Whether a method belongs to a part of this object: `self.session.request`.
fn of_another(file: &File<'_, '_>, callee: Id) -> bool {
    match file.tree.kind(callee) {
        Kind::Field { of, .. } => match file.tree.kind(*of) {
            // `super().request(…)` in `request`: that of the base.
            Kind::Call { callee, .. } => file.tree.last_name(*callee) == Some("super"),
            Kind::Name("super" | "base") => true,
            Kind::Field { of: owner, .. } => file.tree.last_name(*owner).is_some_and(|owner| {
                matches!(owner, "this" | "self" | "cls")
                    || file.language == Language::Go && owner.len() <= 2
            }),
            // A name is a part of it where `this` need not be written (`bootstrap.connect()`), and
            // elsewhere belongs to nobody in a function of no class: `client.send()` in `send`.
            Kind::Name(owner) => {
                let may = match file.language {
                    Language::Java | Language::Kotlin | Language::CSharp => true,
                    Language::Python
                    | Language::JavaScript
                    | Language::TypeScript
                    | Language::Tsx => file.tree.class_of(callee).is_none(),
                    _ => false,
                };
                may && owner.trim_start_matches('_').starts_with(char::is_lowercase)
                    && !matches!(*owner, "this" | "self" | "super" | "base" | "that")
            }
            _ => false,
        },
        _ => false,
    }
}

/// `this.load(…)` inside of `load`, of which there may be others elsewhere.
fn own_call(file: &File<'_, '_>, call: Id, function: Id) -> bool {
    let Kind::Call { callee, .. } = file.tree.kind(call) else { return false };
    match file.tree.kind(*callee) {
        Kind::Name(_) => true,
        Kind::Field { of, .. } => {
            let own = file.tree.last_name(*of);
            matches!(own, Some("this" | "self" | "cls" | "Self"))
                && file.tree.class_of(call) == file.tree.class_of(function)
                || own.is_some() && own == file.object_of(function)
        }
        _ => false,
    }
}

/// The statement that a call stands in.
fn statement(file: &File<'_, '_>, call: Id) -> Option<Id> {
    let tree = file.tree;
    let mut inner = call;
    for up in tree.ancestors(call) {
        if matches!(tree.kind(up), Kind::Block(all) if all.contains(&inner)) {
            return Some(inner);
        }
        inner = up;
    }
    None
}

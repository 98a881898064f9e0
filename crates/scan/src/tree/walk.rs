//! Children, and walks in the order of the source.

use super::{Id, Kind, LoopForm, Tree};

impl Tree<'_> {
    /// Calls `each` with every child of a node, in the order of the source.
    pub fn children(&self, id: Id, each: &mut dyn FnMut(Id)) {
        children_of(self.kind(id), each);
    }

    /// A walk through a node and all below it, parents first.
    #[must_use]
    pub fn walk(&self, from: Id) -> Walk<'_> {
        Walk { tree: self, stack: vec![from], skip_functions: false, start: from }
    }

    /// The same without what is in functions and classes that are declared inside: what happens
    /// when `from` runs. Closures that are arguments or values are functions too.
    #[must_use]
    pub fn walk_here(&self, from: Id) -> Walk<'_> {
        Walk { tree: self, stack: vec![from], skip_functions: true, start: from }
    }

    /// Every node that has one of these lines, parents first. What lies elsewhere is not entered.
    pub fn touching(&self, line: u32, end_line: u32) -> impl Iterator<Item = Id> + '_ {
        let mut stack = vec![self.root()];
        std::iter::from_fn(move || {
            loop {
                let id = stack.pop()?;
                let span = self.span(id);
                if span.end_line < line || end_line < span.line {
                    continue;
                }
                let first = stack.len();
                self.children(id, &mut |child| stack.push(child));
                stack[first..].reverse();
                return Some(id);
            }
        })
    }
}

/// A walk through a tree, parents first.
#[derive(Clone, Debug)]
pub struct Walk<'t> {
    tree: &'t Tree<'t>,
    stack: Vec<Id>,
    skip_functions: bool,
    start: Id,
}

impl Iterator for Walk<'_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        let id = self.stack.pop()?;
        let kind = self.tree.kind(id);
        let inner = matches!(kind, Kind::Function { .. } | Kind::Class { .. });
        if !(inner && self.skip_functions && id != self.start) {
            let first = self.stack.len();
            children_of(kind, &mut |child| self.stack.push(child));
            self.stack[first..].reverse();
        }
        Some(id)
    }
}

/// Calls `each` with every child, in the order of the source.
pub(super) fn children_of(kind: &Kind<'_>, each: &mut dyn FnMut(Id)) {
    match kind {
        Kind::Name(_)
        | Kind::Number(_)
        | Kind::Text(_)
        | Kind::Bool(_)
        | Kind::Null
        | Kind::Import { .. }
        | Kind::Continue(_)
        | Kind::Again
        | Kind::Goto(_)
        | Kind::Label(_) => {}
        Kind::Field { of, .. }
        | Kind::Unary { of, .. }
        | Kind::Step { of, .. }
        | Kind::Await(of)
        | Kind::Propagate(of)
        | Kind::Spawn(of)
        | Kind::Defer(of) => each(*of),
        Kind::Index { of, at } => {
            each(*of);
            each(*at);
        }
        Kind::Call { callee, args, .. } => {
            each(*callee);
            args.iter().for_each(|arg| each(arg.value));
        }
        Kind::Binary { left, right, .. } => {
            each(*left);
            each(*right);
        }
        Kind::Assign { target, value, .. } => {
            each(*target);
            each(*value);
        }
        Kind::Record { ty, entries } => {
            ty.iter().for_each(|ty| each(*ty));
            entries.iter().for_each(|entry| each(entry.value));
        }
        Kind::List(all) | Kind::Block(all) | Kind::Other(all) => {
            all.iter().for_each(|id| each(*id));
        }
        Kind::Range { from, to, .. } => from.iter().chain(to).for_each(|id| each(*id)),
        Kind::Let { target, value, .. } => {
            each(*target);
            value.iter().for_each(|id| each(*id));
        }
        Kind::Function { params, body, decorators, .. } => {
            decorators.iter().for_each(|id| each(*id));
            params.iter().filter_map(|param| param.default).for_each(&mut *each);
            each(*body);
        }
        Kind::Class { bases, decorators, body, .. } => {
            decorators.iter().chain(bases).for_each(|id| each(*id));
            each(*body);
        }
        Kind::If { test, then, otherwise } => {
            each(*test);
            each(*then);
            otherwise.iter().for_each(|id| each(*id));
        }
        Kind::Loop { form, body, otherwise, .. } => {
            match form {
                LoopForm::Endless | LoopForm::DoWhile(_) => {}
                LoopForm::While(test) => each(*test),
                LoopForm::Counted { init, test, step } => {
                    init.iter().chain(test).chain(step).for_each(|id| each(*id));
                }
                LoopForm::Each { var, over } => {
                    var.iter().for_each(|id| each(*id));
                    each(*over);
                }
            }
            each(*body);
            if let LoopForm::DoWhile(test) = form {
                each(*test);
            }
            otherwise.iter().for_each(|id| each(*id));
        }
        Kind::Try { body, handlers, otherwise, finally } => {
            each(*body);
            for handler in handlers {
                handler.types.iter().chain(&handler.guard).for_each(|id| each(*id));
                each(handler.body);
            }
            otherwise.iter().chain(finally).for_each(|id| each(*id));
        }
        Kind::Match { of, arms } => {
            of.iter().for_each(|id| each(*id));
            for arm in arms {
                arm.patterns.iter().chain(&arm.guard).for_each(|id| each(*id));
                each(arm.body);
            }
        }
        Kind::Return(value)
        | Kind::Throw(value)
        | Kind::Break { value, .. }
        | Kind::Yield(value) => value.iter().for_each(|id| each(*id)),
        Kind::With { items, body } => {
            items.iter().for_each(|id| each(*id));
            each(*body);
        }
    }
}

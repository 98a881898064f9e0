//! Loops over a helper that is told of each failure, and ends after a round without one:
//! `for attempt in attempts(5): try: upload() except OSError as e: attempt.failed(e)`.

use super::super::words;
use super::Machine;
use crate::tree::{Id, Kind};

impl Machine<'_, '_, '_> {
    /// The places in a loop at which what it goes through is told that a round failed: a field of
    /// the loop's variable is set, or a method of it is called, on a condition or in a handler.
    pub(super) fn tellings(&self, var: Option<Id>, over: Id, body: Id) -> Vec<Id> {
        let tree = self.tree;
        let head = match tree.kind(over) {
            Kind::Call { callee, .. } => *callee,
            _ => over,
        };
        let helps = tree
            .last_name(head)
            .is_some_and(|name| words::about_retry(name) || words::any(name, &["times", "tries"]));
        let Some(Kind::Name(var)) = var.map(|var| tree.kind(var)).filter(|_| helps) else {
            return Vec::new();
        };
        let of_var = |id: Id| match tree.kind(id) {
            Kind::Field { of, .. } => matches!(tree.kind(*of), Kind::Name(name) if name == var),
            _ => false,
        };
        let tells = |id: Id| match tree.kind(id) {
            Kind::Assign { target, .. } => of_var(*target),
            Kind::Call { callee, args, .. } => !args.is_empty() && of_var(*callee),
            _ => false,
        };
        tree.walk_here(body).filter(|id| tells(*id) && self.is_conditional(*id, body)).collect()
    }

    /// Whether something in a body only happens on a condition, or after a failure.
    fn is_conditional(&self, id: Id, body: Id) -> bool {
        let mut inner = id;
        for up in self.tree.ancestors(id).take_while(|up| *up != body) {
            match self.tree.kind(up) {
                Kind::If { test, .. } if *test != inner => return true,
                Kind::Try { handlers, .. }
                    if handlers.iter().any(|handler| handler.body == inner) =>
                {
                    return true;
                }
                _ => {}
            }
            inner = up;
        }
        false
    }

    /// Remembers that the helper was told, if this is where it is.
    pub(super) fn tell(&mut self, at: Id) {
        if self.tellings.contains(&at) {
            self.told = true;
        }
    }
}

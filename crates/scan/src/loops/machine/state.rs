//! Loops that go on until the operation has brought something about, where it does so out of
//! sight: `while not self._session: try: self.refresh_session() except …`.

use super::super::words;
use super::Machine;
use crate::tree::{Id, Kind, Op};

/// Words for what is so once it went well.
const REACHED: &[&str] = &[
    "authenticated",
    "connected",
    "connection",
    "established",
    "initialised",
    "initialized",
    "joined",
    "loaded",
    "opened",
    "registered",
    "started",
    "subscribed",
    "succeeded",
    "success",
    "successful",
];
/// A shorter word says nothing of what it belongs to.
const LEAST: usize = 4;

impl Machine<'_, '_, '_> {
    /// Whether the head of a loop asks for something that is not there yet and that is named as
    /// the operation is, or says that it went well: nothing else in the loop sets it.
    pub(super) fn is_brought_about(&self, subject: Id, test: Id) -> bool {
        let tree = self.tree;
        let wanted = match tree.kind(test) {
            Kind::Unary { op: Op::Not, of } => *of,
            Kind::Binary { op: Op::Equal, left, right }
                if matches!(tree.kind(*right), Kind::Null | Kind::Bool(false)) =>
            {
                *left
            }
            _ => return false,
        };
        let (Kind::Name(name) | Kind::Field { name, .. }) = tree.kind(wanted) else {
            return false;
        };
        let set = self.file.assigned(name).iter().any(|at| self.file.within(*at, subject));
        !set && (words::any(name, REACHED) || self.plan.ops.iter().any(|op| self.names(*op, name)))
    }

    /// Whether what is called is named with a word of a name.
    fn names(&self, operation: Id, name: &str) -> bool {
        let Kind::Call { callee, .. } = self.tree.kind(operation) else { return false };
        let called = words::words(self.tree.last_name(*callee).unwrap_or_default());
        let wanted = words::words(name);
        wanted.iter().any(|word| {
            word.len() >= LEAST && called.iter().any(|other| other.starts_with(&**word))
        })
    }
}

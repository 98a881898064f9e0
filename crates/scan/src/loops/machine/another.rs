//! Answers with an arm for another attempt: `Answer::Err(e) => …, Answer::Retry(wait) => …`.

use super::Machine;
use crate::loops::words;
use crate::tree::{Id, Kind};

impl Machine<'_, '_, '_> {
    /// Whether another arm than that of a pattern says that there is another attempt.
    pub(super) fn is_beside_another(&self, pattern: Id) -> bool {
        let tree = self.tree;
        let arms = tree.ancestors(pattern).take(3).find_map(|up| match tree.kind(up) {
            Kind::Match { arms, .. } => Some(arms),
            _ => None,
        });
        arms.into_iter().flatten().flat_map(|arm| &arm.patterns).any(|other| {
            let head = match tree.kind(*other) {
                Kind::Call { callee, .. } => *callee,
                _ => *other,
            };
            *other != pattern && tree.last_name(head).is_some_and(words::names_another)
        })
    }

    /// Notes the object that gave such an answer, if one did: it counts for itself.
    /// `retry.attempt(f)`, and `r.attempt(f)` of `let r = Retry::new(3)`.
    pub(super) fn is_told_by(&mut self, answer: Id) {
        let tree = self.tree;
        let Kind::Call { callee, .. } = tree.kind(answer) else { return };
        let Kind::Field { of, .. } = tree.kind(*callee) else { return };
        let Kind::Name(name) = tree.kind(*of) else { return };
        let made = |at: &Id| matches!(tree.kind(*at), Kind::Let { value: Some(value), .. } if words::about_retry(tree.source(*value)));
        if words::about_retry(name) || self.file.assigned(name).iter().any(made) {
            self.trace.strategy = Some(*callee);
        }
    }
}

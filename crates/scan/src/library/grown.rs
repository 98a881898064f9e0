//! Waits that are no number: functions of the attempt, and what is made of its number where it is
//! given.

use super::catalogue::Param;
use super::given::Found;
use super::read::Reader;
use super::schedule;
use crate::policy::{DelayKind, From, Jitter, Setting};
use crate::tree::{Id, Kind, Op};

impl Reader<'_, '_, '_> {
    /// The function that an option is.
    pub(super) fn function(&self, found: &Found) -> Option<Id> {
        let node = found.node?;
        let made = self.values.definition(node).unwrap_or(node);
        matches!(self.values.tree().kind(made), Kind::Function { .. }).then_some(made)
    }

    /// How a wait grows that is made of the number of the attempt where it is given, and whether
    /// chance is in it: `countdown=10 * 2 ** self.request.retries`.
    pub(super) fn written(&mut self, node: Id, from: &From) {
        let tree = self.values.tree();
        let made = self.values.definition(node).unwrap_or(node);
        let named = |at: Id| match tree.kind(at) {
            Kind::Call { callee, .. } => tree.last_name(*callee),
            Kind::Name(name) | Kind::Field { name, .. } => Some(*name),
            _ => None,
        };
        let grows = tree.walk_here(made).any(|at| match tree.kind(at) {
            Kind::Binary { op: Op::Power | Op::ShiftLeft, .. } => true,
            Kind::Call { .. } => matches!(named(at), Some("pow" | "Pow" | "exp2")),
            _ => false,
        });
        let counts = tree.walk_here(made).filter_map(named).any(|name| {
            let lower = name.to_ascii_lowercase();
            ["retries", "retry", "attempt"].iter().any(|word| lower.contains(word))
        });
        let random = tree.walk_here(made).filter_map(named).any(|name| {
            let lower = name.to_ascii_lowercase();
            ["random", "uniform", "randint", "jitter"].iter().any(|word| lower.contains(word))
        });
        let delay = &mut self.policy.delay;
        if grows {
            delay.kind = Setting { value: DelayKind::Exponential, from: from.clone() };
        } else if counts && matches!(tree.kind(made), Kind::Binary { op: Op::Multiply, .. }) {
            delay.kind = Setting { value: DelayKind::Linear, from: from.clone() };
        } else if delay.kind.value == DelayKind::None {
            // It is given, and nobody can tell what it is.
            delay.kind = Setting { value: DelayKind::Dynamic, from: from.clone() };
        }
        if random && delay.jitter.from == From::Default {
            delay.jitter = Setting { value: Jitter::Random, from: from.clone() };
        }
    }

    /// A base that is not a number: a function of the attempt's number, or nothing known.
    pub(super) fn grown(
        &mut self,
        function: Option<Id>,
        param: &Param,
        from: From,
    ) -> Option<Setting<f64>> {
        let delay = &mut self.policy.delay;
        delay.base_ms = None;
        delay.factor = None;
        let function = function?;
        match schedule::of_function(self.values, function, param) {
            Some(grown) => {
                delay.kind = Setting { value: grown.kind, from: from.clone() };
                if let Some(factor) = grown.factor {
                    delay.factor = Some(Setting { value: factor, from: from.clone() });
                }
                if grown.random {
                    delay.jitter = Setting { value: Jitter::Random, from: from.clone() };
                }
                Some(Setting { value: grown.first, from })
            }
            None => {
                delay.kind = Setting { value: DelayKind::Dynamic, from };
                None
            }
        }
    }
}

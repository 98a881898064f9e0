//! Which answers a policy retries.

use super::sites::{handlers, inside, leaves};
use super::words::{OVERLOAD, is_one_of, retried};
use crate::policy::{By, Policy};
use crate::tree::{Id, Kind, Op, Tree};

/// An answer that means overload and is retried, as written.
pub(super) fn overload(tree: &Tree<'_>, policy: &Policy) -> Option<String> {
    if matches!(policy.by, By::Library { .. }) {
        return retried(policy, OVERLOAD).map(str::to_owned);
    }
    let all = inside(tree, policy);
    let caught =
        handlers(tree, &all).filter(|handler| !leaves(tree, handler.body)).find_map(|handler| {
            let mut types = handler.types.iter().map(|ty| tree.source(*ty));
            types.find(|ty| is_one_of(ty, OVERLOAD)).map(str::to_owned)
        });
    let tested = || {
        all.iter().find_map(|id| match tree.kind(*id) {
            Kind::If { test, then, .. } => {
                let (on, positive) = mentions(tree, *test, true)?;
                (positive != leaves(tree, *then)).then_some(on)
            }
            Kind::Match { arms, .. } => arms.iter().find_map(|arm| {
                let on = arm.patterns.iter().map(|one| tree.source(*one));
                on.filter(|_| !leaves(tree, arm.body))
                    .find(|on| is_one_of(on, OVERLOAD))
                    .map(str::to_owned)
            }),
            _ => None,
        })
    };
    caught.or_else(tested).map(|on| on.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether the code of a policy reads when the server wants it back.
pub(super) fn hears(tree: &Tree<'_>, policy: &Policy) -> bool {
    inside(tree, policy).into_iter().any(|id| {
        let word = match tree.kind(id) {
            Kind::Text(text) => text,
            Kind::Name(name) | Kind::Field { name, .. } => *name,
            _ => return false,
        };
        let word = word.to_ascii_lowercase().replace(['_', '-', ' '], "");
        ["retryafter", "retrypushback", "xratelimitreset"].iter().any(|sign| word.contains(sign))
    })
}

/// What a test names of overload, and whether the test holds for it.
fn mentions(tree: &Tree<'_>, test: Id, holds: bool) -> Option<(String, bool)> {
    let named = |id: Id| is_one_of(tree.source(id), OVERLOAD).then(|| tree.source(id).to_owned());
    match tree.kind(test) {
        Kind::Unary { op: Op::Not, of } => mentions(tree, *of, !holds),
        Kind::Binary { op: Op::And | Op::Or, left, right } => {
            mentions(tree, *left, holds).or_else(|| mentions(tree, *right, holds))
        }
        Kind::Binary { op, left, right } => {
            let side = || named(*right).or_else(|| named(*left));
            let from = match tree.kind(*right) {
                Kind::Number(number) if (429.0..=500.0).contains(number) => Some(*number),
                _ => None,
            };
            match (op, from) {
                (Op::NotEqual | Op::NotIn, _) => Some((side()?, !holds)),
                (Op::Equal | Op::In | Op::Matches, _) => Some((side()?, holds)),
                (Op::AtLeast, Some(from)) => Some((format!("{from} and above"), holds)),
                (Op::Greater, Some(from)) => Some((format!("{} and above", from + 1.0), holds)),
                (Op::Less, Some(from)) => Some((format!("{from} and above"), !holds)),
                (Op::AtMost, Some(from)) => Some((format!("{} and above", from + 1.0), !holds)),
                _ => None,
            }
        }
        Kind::Call { .. } => Some((named(test)?, holds)),
        _ => None,
    }
}

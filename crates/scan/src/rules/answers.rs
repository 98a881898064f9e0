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
            types.find(|ty| is_one_of(ty, OVERLOAD))
        });
    let tested = || {
        all.iter().find_map(|id| match tree.kind(*id) {
            Kind::If { test, then, .. } => {
                let (on, positive) = mentions(tree, *test, true)?;
                (positive != leaves(tree, *then)).then_some(on)
            }
            Kind::Match { arms, .. } => arms.iter().find_map(|arm| {
                let on = arm.patterns.iter().map(|one| tree.source(*one));
                on.filter(|_| !leaves(tree, arm.body)).find(|on| is_one_of(on, OVERLOAD))
            }),
            _ => None,
        })
    };
    caught.or_else(tested).map(|on| on.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The part of a test that names overload, and whether the test holds for it.
fn mentions<'t>(tree: &'t Tree<'_>, test: Id, holds: bool) -> Option<(&'t str, bool)> {
    let here = |holds| is_one_of(tree.source(test), OVERLOAD).then(|| (tree.source(test), holds));
    match tree.kind(test) {
        Kind::Unary { op: Op::Not, of } => mentions(tree, *of, !holds),
        Kind::Binary { op: Op::And | Op::Or, left, right } => {
            mentions(tree, *left, holds).or_else(|| mentions(tree, *right, holds))
        }
        Kind::Binary { op, right, .. } => {
            let from = match tree.kind(*right) {
                Kind::Number(number) => Some(*number),
                _ => None,
            };
            let server_error =
                |first: f64| from.is_some_and(|from| (429.0..=first).contains(&from));
            match op {
                Op::NotEqual | Op::NotIn => here(!holds),
                Op::AtLeast if server_error(500.0) => Some((tree.source(test), holds)),
                Op::Greater if server_error(499.0) => Some((tree.source(test), holds)),
                Op::Less if server_error(500.0) => Some((tree.source(test), !holds)),
                Op::AtMost if server_error(499.0) => Some((tree.source(test), !holds)),
                Op::Equal | Op::In | Op::Matches => here(holds),
                _ => None,
            }
        }
        Kind::Call { .. } => here(holds),
        _ => None,
    }
}

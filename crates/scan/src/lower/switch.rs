//! `break` where a `switch` has its own: in Go, C# and their like it leaves the `switch`, not the
//! loop around it.

use crate::tree::{Arm, Builder, Id, Kind};

/// The label of a [`Kind::Break`] that leaves the nearest [`Kind::Match`]. It is a keyword
/// wherever it is used, so no loop can have it.
pub(super) const SWITCH: &str = "switch";

/// Puts an arm without patterns last, as it is looked at last wherever it is written, and names
/// what each `break` leaves. One at the end of an arm has nothing to leave and becomes an empty
/// block.
pub(super) fn settle(b: &mut Builder<'_>, arms: &mut [Arm]) {
    arms.sort_by_key(|arm| arm.patterns.is_empty() && arm.guard.is_none());
    for arm in arms {
        last_break(b, arm.body);
        b.rewrite(
            arm.body,
            |kind| matches!(kind, Kind::Loop { .. } | Kind::Function { .. } | Kind::Class { .. }),
            |_, kind| match kind {
                Kind::Break { label: None, value: None } => {
                    Some(Kind::Break { label: Some(SWITCH), value: None })
                }
                _ => None,
            },
        );
    }
}

fn last_break(b: &mut Builder<'_>, id: Id) {
    match b.kind(id) {
        Kind::Block(all) => {
            if let Some(last) = all.last().copied() {
                last_break(b, last);
            }
        }
        Kind::If { then, otherwise, .. } => {
            let (then, otherwise) = (*then, *otherwise);
            last_break(b, then);
            if let Some(otherwise) = otherwise {
                last_break(b, otherwise);
            }
        }
        Kind::Break { label: None, value: None } => b.replace(id, Kind::Block(Vec::new())),
        _ => {}
    }
}

//! `break` and `continue`, which may count the loops and switches they leave.

use tree_sitter::Node as Syntax;

use super::super::{named, switch::LEAVE};
use crate::tree::{Builder, Kind};

/// Labels of loops by how many are around them in their function; deeper has none.
const DEPTHS: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8"];

/// How far into a loop's text a counted `break` is looked for.
const MOST_LOOKED_AT: usize = 1 << 14;

fn is_loop(at: Syntax<'_>) -> bool {
    matches!(at.kind(), "while_statement" | "do_statement" | "for_statement" | "foreach_statement")
}

/// The loops and switches around a statement, the nearest first, up to its function.
fn around<'t>(at: Syntax<'t>) -> impl Iterator<Item = Syntax<'t>> {
    std::iter::successors(at.parent(), Syntax::parent)
        .take_while(|up| {
            !matches!(
                up.kind(),
                "function_definition" | "method_declaration" | "anonymous_function"
            )
        })
        .filter(|up| is_loop(*up) || up.kind() == "switch_statement")
}

fn depth(at: Syntax<'_>) -> Option<&'static str> {
    DEPTHS.get(around(at).filter(|up| is_loop(*up)).count()).copied()
}

/// The label of a loop that a counted `break` or `continue` in it may mean.
pub(super) fn label<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Option<&'s str> {
    let text = b.text(at).as_bytes();
    let text = &text[..text.len().min(MOST_LOOKED_AT)];
    let counted = [&b"break "[..], b"continue "].iter().any(|word| {
        text.windows(word.len() + 1).any(|at| {
            at.starts_with(word) && at.last().is_some_and(|digit| (b'2'..=b'9').contains(digit))
        })
    });
    if counted { depth(at) } else { None }
}

/// `break`, `continue 2`: a loop that is not the nearest is meant by its label. `continue` does to
/// a switch what `break` does.
pub(super) fn leave<'s>(b: &Builder<'s>, at: Syntax<'_>) -> Kind<'s> {
    let goes_on = at.kind() == "continue_statement";
    let plain = |label| {
        if goes_on { Kind::Continue(label) } else { Kind::Break { label, value: None } }
    };
    let count = named(at).first().and_then(|count| b.text(*count).parse::<usize>().ok());
    let count = count.unwrap_or(1).max(1);
    if count == 1 && !goes_on {
        return plain(None);
    }
    let up: Vec<_> = around(at).take(count.min(64)).collect();
    let Some(target) = up.last() else { return plain(None) };
    if !is_loop(*target) {
        let label = (up.len() > 1).then_some(LEAVE);
        return Kind::Break { label, value: None };
    }
    let nearest = up.iter().find(|up| is_loop(**up)) == Some(target);
    // A `break` without a label would be the switch's that is around it.
    let switches = up.len() > 1;
    if nearest && (goes_on || !switches) { plain(None) } else { plain(depth(*target)) }
}

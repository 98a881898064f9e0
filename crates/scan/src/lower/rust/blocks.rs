//! Macros with blocks of code in them: the arms of `select!`, and braces anywhere.

use tree_sitter::{Node as Syntax, Range};

use super::macros::{again, only};
use super::node;
use crate::lower::named;
use crate::tree::{Arm, Builder, Id, Kind};

/// More arms or blocks of one macro are left out.
const MOST: usize = 32;

/// `select! { pattern = future => body, … }`: a choice of what comes first. `None`: there is no arm
/// in it.
pub(super) fn select<'s>(b: &mut Builder<'s>, at: Syntax<'_>, tokens: Syntax<'_>) -> Option<Id> {
    let mut cursor = tokens.walk();
    let all: Vec<Syntax<'_>> = tokens.children(&mut cursor).collect();
    let inside = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    let mut arms = Vec::new();
    let mut rest = inside;
    // `biased;` says in which order they are asked.
    if let Some(end) = rest.iter().take(2).position(|part| part.kind() == ";") {
        rest = &rest[end + 1..];
    }
    while let Some(arrow) = rest.iter().position(|part| part.kind() == "=>") {
        if arms.len() >= MOST {
            break;
        }
        let head = &rest[..arrow];
        let after = &rest[arrow + 1..];
        let block = after.first().filter(|part| is_block(b, **part));
        let end = match block {
            Some(_) => 1,
            None => after.iter().position(|part| part.kind() == ",").unwrap_or(after.len()),
        };
        let body = match after.first() {
            // By itself it reads as no expression.
            Some(first) if b.text(*first) == "return" => {
                let value = parsed(b, tokens, after.get(1..end).unwrap_or_default());
                Some(b.add(*first, Kind::Return(value)))
            }
            _ => parsed(b, tokens, &after[..end]),
        };
        let body = body.unwrap_or_else(|| b.add(tokens, Kind::Block(Vec::new())));
        let patterns = match head.iter().position(|part| part.kind() == "=") {
            Some(equals) => {
                let guard = head.iter().position(|part| part.kind() == "if");
                let guard = guard.filter(|guard| *guard > equals).map_or(head.len(), |at| at - 1);
                let value = parsed(b, tokens, head.get(equals + 1..guard).unwrap_or_default());
                let name = head[..equals].iter().flat_map(|part| identifiers(*part)).last();
                let name = name.map_or("_", |name| b.text(name));
                let target = b.add(head[0], Kind::Name(name));
                let kind = Kind::Let { target, ty: None, value, constant: true };
                vec![b.add(head[0], kind)]
            }
            // `else => …`, `complete => …`.
            None => Vec::new(),
        };
        arms.push(Arm { patterns, guard: None, body });
        let end = end + usize::from(after.get(end).is_some_and(|part| part.kind() == ","));
        rest = &after[end..];
    }
    let any = arms.iter().any(|arm| !arm.patterns.is_empty());
    any.then(|| b.add(at, Kind::Match { of: None, arms }))
}

/// The blocks of code in a macro of one's own: `on { write() }`.
pub(super) fn blocks<'s>(b: &mut Builder<'s>, tokens: Syntax<'_>) -> Vec<Id> {
    let own = is_block(b, tokens) && !named(tokens).into_iter().any(|part| is_block(b, part));
    let all = if own { vec![tokens] } else { named(tokens) };
    let blocks = all.into_iter().filter(|part| is_block(b, *part)).take(MOST);
    blocks.collect::<Vec<_>>().into_iter().filter_map(|part| parsed(b, tokens, &[part])).collect()
}

fn is_block(b: &Builder<'_>, part: Syntax<'_>) -> bool {
    part.kind() == "token_tree" && b.text(part).starts_with('{')
}

fn identifiers(part: Syntax<'_>) -> Vec<Syntax<'_>> {
    match part.kind() {
        "identifier" => vec![part],
        "token_tree" => named(part).into_iter().flat_map(identifiers).collect(),
        _ => Vec::new(),
    }
}

/// The one expression that some tokens are.
fn parsed<'s>(b: &mut Builder<'s>, tokens: Syntax<'_>, parts: &[Syntax<'_>]) -> Option<Id> {
    let (first, last) = (parts.first()?.range(), parts.last()?.range());
    let part = Range {
        start_byte: first.start_byte,
        start_point: first.start_point,
        end_byte: last.end_byte,
        end_point: last.end_point,
    };
    let syntax = again(b, tokens, part)?;
    let one = only(syntax.root_node())?;
    let whole = one.range().end_byte >= last.end_byte.saturating_sub(1) && !one.is_error();
    whole.then(|| node(b, one))
}

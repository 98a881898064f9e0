//! Macros. The grammar has only their tokens, so what is in the brackets is parsed once more, as
//! if it were a tuple or an array.

use tree_sitter::{Node as Syntax, Range};

use super::{blocks, node, text_of};
use crate::language::Language;
use crate::lower::fields::Fields as _;
use crate::lower::{named, parse};
use crate::tree::{Arg, Builder, Id, Kind, Op};

/// Longer or deeper arguments are not parsed again: each level is parsed once more for each one
/// around it.
const MAX_BYTES: usize = 16 * 1024;
const MAX_LEVELS: usize = 12;

/// Macros whose blocks are written somewhere else, or are no code.
const WRITING: &[&str] =
    &["quote!", "quote_spanned!", "parse_quote!", "html!", "rsx!", "view!", "json!", "css!"];

/// Macros that leave the function.
const LEAVING: &[&str] = &["bail!", "panic!", "todo!", "unimplemented!", "unreachable!"];

/// `name!(…)`.
pub(super) fn invocation<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
    let Some(path) = at.child_in("macro") else {
        return b.add(at, Kind::Other(Vec::new()));
    };
    let callee = callee(b, path);
    let name = match b.kind(callee) {
        Kind::Name(name) | Kind::Field { name, .. } => *name,
        _ => "",
    };
    let tokens = named(at).into_iter().rev().find(|child| child.kind() == "token_tree");
    if name == "matches!"
        && let Some(tokens) = tokens
    {
        return matches(b, at, tokens);
    }
    let args = tokens.and_then(|tokens| arguments(b, tokens));
    let kind = match (name, args) {
        ("vec!", Some(args)) => Kind::List(args.into_iter().map(|arg| arg.value).collect()),
        ("ensure!", Some(args)) if !args.is_empty() => {
            let test = b.add(at, Kind::Unary { op: Op::Not, of: args[0].value });
            let rest = args[1..].iter().map(|arg| arg.value).collect();
            let value = b.add(at, Kind::List(rest));
            let then = b.add(at, Kind::Throw(Some(value)));
            Kind::If { test, then, otherwise: None }
        }
        ("select!" | "select_biased!", None) if let Some(tokens) = tokens => {
            match blocks::select(b, at, tokens) {
                Some(choice) => return choice,
                None => Kind::Other(vec![callee]),
            }
        }
        ("vec!", None) => {
            let inside = tokens.map(|tokens| node(b, tokens));
            Kind::Other(std::iter::once(callee).chain(inside).collect())
        }
        (name, None)
            if !WRITING.contains(&name)
                && tokens.is_some_and(|tokens| b.text(tokens).starts_with('{')) =>
        {
            let inside = tokens.map(|tokens| blocks::blocks(b, tokens)).unwrap_or_default();
            Kind::Other(std::iter::once(callee).chain(inside).collect())
        }
        (name, args) => {
            let args = args.unwrap_or_default();
            let call = Kind::Call { callee, args, new: false };
            if LEAVING.contains(&name) { Kind::Throw(Some(b.add(at, call))) } else { call }
        }
    };
    b.add(at, kind)
}

/// The path with the `!` at its last name.
fn callee<'s>(b: &mut Builder<'s>, path: Syntax<'_>) -> Id {
    let name = path.child_in("name").unwrap_or(path);
    let with_sign = b.source().get(name.start_byte()..name.end_byte() + 1);
    let name = with_sign.filter(|text| text.ends_with('!')).unwrap_or_else(|| b.text(name));
    match path.child_in("path") {
        None => b.add(path, Kind::Name(name)),
        Some(of) => {
            let of = node(b, of);
            b.add(path, Kind::Field { of, name })
        }
    }
}

/// `(a, b = c)` as arguments; `None` if it does not read as such.
pub(super) fn arguments<'s>(b: &mut Builder<'s>, tokens: Syntax<'_>) -> Option<Vec<Arg<'s>>> {
    if tokens.child_count() <= 2 {
        return Some(Vec::new());
    }
    if !matches!(tokens.child(0)?.kind(), "(" | "[") {
        return None;
    }
    let syntax = again(b, tokens, tokens.range())?;
    let list = only(syntax.root_node())?;
    if list.range().end_byte != tokens.end_byte() {
        return None;
    }
    let all = match list.kind() {
        "parenthesized_expression" | "tuple_expression" => named(list),
        "array_expression" if list.child_in("length").is_none() => named(list),
        _ => return None,
    };
    // `target:` of a log line is no expression; what follows it is.
    let all = all.into_iter().filter(|arg| !arg.is_error());
    Some(all.map(|arg| argument(b, arg)).collect())
}

/// The one expression of a file. An expression alone is an error there, which has it inside.
pub(super) fn only(root: Syntax<'_>) -> Option<Syntax<'_>> {
    let mut at = root;
    while matches!(at.kind(), "source_file" | "ERROR" | "expression_statement") {
        match named(at)[..] {
            [one] => at = one,
            _ => return None,
        }
    }
    Some(at)
}

fn argument<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Arg<'s> {
    let left = at.child_in("left").filter(|left| left.kind() == "identifier");
    match (at.kind(), left, at.child_in("right")) {
        ("assignment_expression", Some(_), Some(right)) => {
            Arg { name: text_of(b, at, "left"), value: node(b, right), spread: false }
        }
        _ => Arg { name: None, value: node(b, at), spread: false },
    }
}

/// Parses a part of the text, unless that would cost too much.
pub(super) fn again(b: &Builder<'_>, tokens: Syntax<'_>, part: Range) -> Option<tree_sitter::Tree> {
    if part.end_byte - part.start_byte > MAX_BYTES || levels(b.text(tokens)) > MAX_LEVELS {
        return None;
    }
    parse(Language::Rust, b.source(), &[part])
}

fn levels(text: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => now += 1,
            b')' | b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// `matches!(x, P | Q if g)`: of a pattern its path is kept, as the name or call it begins with.
fn matches<'s>(b: &mut Builder<'s>, at: Syntax<'_>, tokens: Syntax<'_>) -> Id {
    let mut cursor = tokens.walk();
    let children: Vec<_> = tokens.children(&mut cursor).collect();
    let inside = children.get(1..children.len().saturating_sub(1)).unwrap_or_default();
    let comma = inside.iter().position(|child| child.kind() == ",").unwrap_or(inside.len());
    let left = match (inside.first(), comma.checked_sub(1).and_then(|end| inside.get(end))) {
        (Some(from), Some(to)) => {
            let (from, to) = (from.range(), to.range());
            let part = Range {
                start_byte: from.start_byte,
                start_point: from.start_point,
                end_byte: to.end_byte,
                end_point: to.end_point,
            };
            let syntax = again(b, tokens, part);
            match syntax.as_ref().and_then(|syntax| only(syntax.root_node())) {
                Some(statement) => node(b, statement),
                None => b.add(tokens, Kind::Other(Vec::new())),
            }
        }
        _ => b.add(tokens, Kind::Other(Vec::new())),
    };
    let mut patterns = Vec::new();
    let (mut now, mut guard) = (None, Vec::new());
    let mut guarded = false;
    for child in inside.iter().skip(comma + 1) {
        match child.kind() {
            "if" => guarded = true,
            _ if guarded => guard.push(node(b, *child)),
            "|" => patterns.extend(now.take()),
            "::" | "&" | "," => {}
            "token_tree" => {
                let args = arguments(b, *child).unwrap_or_default();
                now = now.map(|callee| b.add(*child, Kind::Call { callee, args, new: false }));
            }
            _ => {
                let name = b.text(*child);
                now = Some(match now {
                    Some(of) => b.add(*child, Kind::Field { of, name }),
                    None => node(b, *child),
                });
            }
        }
    }
    patterns.extend(now);
    let right = match patterns[..] {
        [only] => only,
        _ => b.add(tokens, Kind::List(patterns)),
    };
    let test = b.add(at, Kind::Binary { op: Op::Matches, left, right });
    if guard.is_empty() {
        return test;
    }
    let guard = b.add(tokens, Kind::Other(guard));
    b.add(at, Kind::Binary { op: Op::And, left: test, right: guard })
}

//! From the syntax of each language to the one [`Tree`]: one file for each.

/// The ways down from a piece of syntax, each by the function `one` of the language that asks for
/// them: `node` for a child, `field` for one that has to be there (an empty [`Kind::Other`] stands
/// for it where it is not), `maybe` for one that need not, `first` for the first with a name.
macro_rules! ways {
    ($($way:ident),+) => { $($crate::lower::ways!(@ $way);)+ };
    (@ node) => {
        fn node<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Id {
            b.deeper(at, |b| one(b, at))
        }
    };
    (@ field) => {
        fn field<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: &'static str) -> Id {
            match at.child_in(name) {
                Some(child) => node(b, child),
                None => b.add(at, Kind::Other(Vec::new())),
            }
        }
    };
    (@ maybe) => {
        fn maybe<'s>(b: &mut Builder<'s>, at: Syntax<'_>, name: &'static str) -> Option<Id> {
            at.child_in(name).map(|child| node(b, child))
        }
    };
    (@ first) => {
        fn first<'s>(b: &mut Builder<'s>, at: Syntax<'_>) -> Option<Id> {
            $crate::lower::named(at).first().map(|child| node(b, *child))
        }
    };
}
use ways;

#[cfg(test)]
mod check;
mod csharp;
mod defaults;
mod fields;
mod go;
mod java;
mod javascript;
mod kotlin;
mod operator;
mod php;
mod python;
mod ruby;
mod rust;
mod switch;

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Node as Syntax, ParseOptions, Parser};

use crate::language::Language;
use crate::tree::{Builder, Id, Kind, LoopForm, Tree};

/// Parsing stops after so many bytes' worth of steps without an end: a grammar can be slow on a
/// text that is not of its language.
const STEPS_PER_BYTE: usize = 64;

thread_local! {
    /// A parser is worth keeping: it holds its stacks.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// The tree of a text; `None` if it cannot be parsed within bounds.
#[must_use]
pub fn tree(language: Language, text: &str) -> Option<Tree<'_>> {
    let mut syntax = parse(language, text, &[])?;
    if language == Language::CSharp
        && syntax.root_node().has_error()
        && let parts @ [_, ..] = &csharp::condition::first_branches(text)[..]
        && let Some(other) = parse(language, text, parts)
        && !other.root_node().has_error()
    {
        syntax = other;
    }
    if language == Language::JavaScript {
        syntax = javascript::typed(text, syntax);
    }
    let root = syntax.root_node();
    let mut builder = Builder::new(text);
    let id = match language {
        Language::CSharp => csharp::file(&mut builder, root),
        Language::Go => go::file(&mut builder, root),
        Language::Kotlin => kotlin::file(&mut builder, root),
        Language::Java => java::file(&mut builder, root),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            javascript::file(&mut builder, root)
        }
        Language::Php => php::file(&mut builder, root),
        Language::Python => python::file(&mut builder, root),
        Language::Rust => rust::file(&mut builder, root),
        Language::Ruby => ruby::file(&mut builder, root),
    };
    Some(builder.finish(id, root.has_error()))
}

/// The syntax of a text, or of parts of it as if nothing else were there.
fn parse(
    language: Language,
    text: &str,
    parts: &[tree_sitter::Range],
) -> Option<tree_sitter::Tree> {
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&language.grammar()).ok()?;
        // Without a range the whole text is meant.
        parser.set_included_ranges(parts).ok()?;
        let length = match parts {
            [] => text.len(),
            parts => parts.iter().map(|part| part.end_byte - part.start_byte).sum(),
        };
        let mut calls = 0_usize;
        let most = 4096 + length.saturating_mul(STEPS_PER_BYTE) / 100;
        let mut progress = |_: &tree_sitter::ParseState| {
            calls += 1;
            if calls > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let bytes = text.as_bytes();
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        );
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// The named children of a piece of syntax, comments left out. What could not be read is marked as
/// if it were a comment, but has code in it.
fn named<'t>(at: Syntax<'t>) -> Vec<Syntax<'t>> {
    let mut cursor = at.walk();
    at.named_children(&mut cursor).filter(|child| !child.is_extra() || child.is_error()).collect()
}

/// The children in a field.
fn in_field<'t>(at: Syntax<'t>, field: &str) -> Vec<Syntax<'t>> {
    let mut cursor = at.walk();
    at.children_by_field_name(field, &mut cursor).filter(Syntax::is_named).collect()
}

/// The places of a list or of a pattern of one; `None`: nothing stands there, as in `[, b]`.
fn places<'t>(at: Syntax<'t>) -> Vec<Option<Syntax<'t>>> {
    let mut cursor = at.walk();
    let (mut all, mut open) = (Vec::new(), false);
    for child in at.children(&mut cursor).filter(|child| !child.is_extra()) {
        match child.kind() {
            "[" | "(" => open = true,
            "," if open => all.push(None),
            "," => open = true,
            _ if child.is_named() => {
                all.push(Some(child));
                open = false;
            }
            _ => {}
        }
    }
    all
}

/// A statement that stands where a block may stand, as a block.
fn in_block<'s>(b: &mut Builder<'s>, at: Syntax<'_>, body: Id) -> Id {
    match b.kind(body) {
        Kind::Block(_) => body,
        _ => b.add(at, Kind::Block(vec![body])),
    }
}

/// Whether a child without a name, a keyword or a sign, is this.
fn has_word(at: Syntax<'_>, word: &str) -> bool {
    let mut cursor = at.walk();
    at.children(&mut cursor).any(|child| !child.is_named() && child.kind() == word)
}

/// A number as every language writes it: `1_000`, `0x1F`, `5L`, `2.5f`, `1e3`.
fn number(text: &str) -> Option<f64> {
    let clean: String = text.chars().filter(|c| *c != '_' && *c != '\'').collect();
    let lower = clean.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
            return u64::from_str_radix(&digits[..end], radix).ok().map(|value| value as f64);
        }
    }
    // The longest start that is a number; what follows is a suffix (`u64`, `L`, `f`, `m`, `n`).
    let end = lower
        .char_indices()
        .take_while(|&(at, c)| {
            c.is_ascii_digit()
                || c == '.'
                || (c == 'e'
                    && lower[at + 1..]
                        .starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)))
                || ("+-".contains(c) && at > 0 && lower[..at].ends_with('e'))
        })
        .map(|(at, c)| at + c.len_utf8())
        .last()?;
    lower[..end].trim_end_matches('.').parse().ok()
}

/// A text without its prefix and quotes. Escapes are kept as written: nothing asks for them.
fn unquoted(text: &str) -> &str {
    let body = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '@' || c == '$');
    for quote in ["\"\"\"", "'''", "\"", "'", "`"] {
        if let Some(inner) = body.strip_prefix(quote) {
            return inner.strip_suffix(quote).unwrap_or(inner);
        }
    }
    text
}

/// Lowers every child with a name and keeps the results.
fn each_child<'s>(
    b: &mut Builder<'s>,
    at: Syntax<'_>,
    lower: fn(&mut Builder<'s>, Syntax<'_>) -> Id,
) -> Vec<Id> {
    named(at).into_iter().map(|child| lower(b, child)).collect()
}

/// `while (true)`, `for (;;)` and `do … while (true)` are [`LoopForm::Endless`].
fn endless(b: &Builder<'_>, form: LoopForm) -> LoopForm {
    let holds = |test: Id| matches!(b.kind(test), Kind::Bool(true) | Kind::Number(1.0));
    match form {
        LoopForm::While(test) | LoopForm::DoWhile(test) if holds(test) => LoopForm::Endless,
        LoopForm::Counted { init: None, test, step: None } if test.is_none_or(holds) => {
            LoopForm::Endless
        }
        form => form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree of a text that is whole.
    pub(super) fn show(language: Language, text: &str) -> String {
        let tree = tree(language, text).expect("parses");
        assert!(!tree.broken(), "{text}");
        tree.show(tree.root())
    }

    /// Cuts a text at every place: nothing of it may panic, and only the root has no parent.
    pub(super) fn every_prefix_lowers(language: Language, text: &str) {
        let whole = tree(language, text).expect("parses");
        assert!(!whole.broken(), "{text}");
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let Some(tree) = tree(language, &text[..end]) else { continue };
            assert!(matches!(tree.kind(tree.root()), Kind::Block(_)), "{}", &text[..end]);
            assert!(tree.walk(tree.root()).count() <= tree.len(), "{}", &text[..end]);
        }
    }

    #[test]
    fn numbers_of_every_language() {
        let cases = [
            ("1_000", 1000.0),
            ("0x1F", 31.0),
            ("0b101", 5.0),
            ("5L", 5.0),
            ("2.5f", 2.5),
            ("1e3", 1000.0),
            ("2.5e-3", 0.0025),
            ("100u64", 100.0),
            ("3.", 3.0),
            (".5", 0.5),
            ("10n", 10.0),
        ];
        for (text, value) in cases {
            assert_eq!(number(text), Some(value), "{text}");
        }
        assert_eq!(number("x"), None);
        assert_eq!(number(""), None);
    }

    #[test]
    fn quotes_go() {
        for text in ["\"a\"", "'a'", "`a`", "r\"a\"", "b'a'", "\"\"\"a\"\"\"", "$\"a\"", "@\"a\""] {
            assert_eq!(unquoted(text), "a", "{text}");
        }
    }
}

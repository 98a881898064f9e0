//! Children by the name of their field. Grammars know fields by numbers: looking a name up among all
//! of a grammar takes longer than finding the child.

use std::cell::RefCell;

use tree_sitter::{Language, Node as Syntax};

/// Names that are remembered of each grammar; of two with the same slot the later one is.
const SLOTS: usize = 256;

/// A name of the program's own text, by its place and its length, and its number; 0 is that of
/// no field.
type Slot = (usize, usize, u16);

/// What is remembered of each grammar that was asked for.
#[derive(Default)]
struct Known {
    grammars: Vec<(Language, Box<[Slot; SLOTS]>)>,
    /// The one that was last asked for.
    last: usize,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

impl Known {
    fn number(&mut self, grammar: &Language, name: &'static str) -> u16 {
        if self.grammars.get(self.last).is_none_or(|(known, _)| known != grammar) {
            let at = self.grammars.iter().position(|(known, _)| known == grammar);
            self.last = at.unwrap_or_else(|| {
                self.grammars.push((grammar.clone(), Box::new([(0, 0, 0); SLOTS])));
                self.grammars.len() - 1
            });
        }
        let (at, len) = (name.as_ptr().addr(), name.len());
        let slot = &mut self.grammars[self.last].1[(at ^ (at >> 8) ^ len) % SLOTS];
        if (slot.0, slot.1) != (at, len) {
            *slot = (at, len, grammar.field_id_for_name(name).map_or(0, u16::from));
        }
        slot.2
    }
}

/// What a piece of syntax has in its fields.
pub(super) trait Fields: Sized {
    /// The first child in a field.
    fn child_in(self, name: &'static str) -> Option<Self>;
}

impl Fields for Syntax<'_> {
    fn child_in(self, name: &'static str) -> Option<Self> {
        let number = KNOWN.with_borrow_mut(|known| known.number(&self.language(), name));
        self.child_by_field_id(number)
    }
}

#[cfg(test)]
mod tests {
    use tree_sitter::Parser;

    use super::*;

    /// Each grammar has numbers of its own, and not every name.
    #[test]
    fn a_child_is_found_whatever_was_asked_for_before() {
        use crate::language::Language::{Go, Python, Rust};
        const NAMES: [&str; 5] = ["name", "body", "parameters", "receiver", "none"];
        let parsed: Vec<_> = [
            (Python, "def f(x):\n    pass\n"),
            (Go, "func (s *S) f(x int) {\n}\n"),
            (Rust, "fn f(x: u8) {}\n"),
        ]
        .into_iter()
        .map(|(language, text)| {
            let mut parser = Parser::new();
            parser.set_language(&language.grammar()).expect("a grammar");
            parser.parse(text, None).expect("parses")
        })
        .collect();
        let mut found = 0;
        for tree in parsed.iter().chain(&parsed) {
            let function = tree.root_node().named_child(0).expect("a function");
            for name in NAMES {
                assert_eq!(function.child_in(name), function.child_by_field_name(name), "{name}");
                found += usize::from(function.child_in(name).is_some());
            }
        }
        assert_eq!(found, 2 * (3 + 4 + 3));
    }
}

//! Functions that call themselves when something failed, as bytes show it: a handler, and a few
//! lines after it the name of a function around it.

use super::functions::{around, defined, indent, word};

/// How far after a handler begins the call may stand, in lines.
const NEAR: usize = 12;
/// Shorter names stand in anything.
const SHORTEST: usize = 3;
/// What a method of one's own is called on; a class has a name of its own.
const OWN: &[&str] = &["self", "this", "cls", "me", "that", "static", "_this"];

/// What is known of the handlers of a text, line by line.
pub(super) struct Again<'s> {
    /// The functions around the last handler: how far each is indented, and its name.
    functions: Vec<(usize, &'s str)>,
    /// Lines left in which a call counts.
    left: usize,
}

impl<'s> Again<'s> {
    pub(super) fn new() -> Self {
        Self { functions: Vec::new(), left: 0 }
    }

    /// Whether this line is such a call. `before`: the text up to it; `handles`: where a handler
    /// begins in it.
    pub(super) fn line(&mut self, before: &'s str, line: &'s str, handles: Option<usize>) -> bool {
        if handles.is_some() {
            // `const load = (url) => get(url).catch(() => load(url))`.
            let own = defined(line).map(|name| (0, name));
            self.functions.clear();
            self.functions.extend(own.into_iter().chain(around(before, indent(line))));
            self.functions.retain(|(_, name)| name.len() >= SHORTEST);
            self.left = NEAR;
        }
        if self.left == 0 || self.functions.is_empty() {
            return false;
        }
        self.left -= 1;
        let indented = indent(line);
        let begins = handles.is_none() && defined(line).is_some();
        if begins {
            // The line that defines a function does not call it, and ends those beside it.
            self.functions.retain(|(indent, _)| *indent < indented);
            return false;
        }
        // What stands before the handler in its own line is not after the failure.
        let after = handles.map_or(line, |at| line.get(at..).unwrap_or_default());
        let inside = |indent: usize| handles.is_some() || indent < indented;
        self.functions.iter().any(|(indent, name)| inside(*indent) && calls(after, name))
    }
}

/// Whether a name is called in a line, and not on something else.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = &line[..at];
        if !line[at + name.len()..].starts_with('(') || before.ends_with(word) {
            return false;
        }
        let Some(owner) = before.strip_suffix(['.', '>', ':']) else { return true };
        let owner = owner.trim_end_matches(['-', ':', '?']);
        let owner = &owner[owner.trim_end_matches(word).len()..];
        OWN.contains(&owner) || owner.starts_with(char::is_uppercase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        use crate::language::Language;
        let mut again = Again::new();
        let language = if text.starts_with("def") { Language::Python } else { Language::Java };
        text.lines().any(|line| {
            let before = &text[..line.as_ptr() as usize - text.as_ptr() as usize];
            let handles = super::super::twice::handlers_of(language, line).next();
            again.line(before, line, handles)
        })
    }

    #[test]
    fn a_function_that_calls_itself_in_a_handler() {
        assert!(found(
            "def fetch(url, n):\n  try:\n    get(url)\n  except E:\n    fetch(url, n)\n"
        ));
        assert!(found(
            "async load(url) {\n try { go(); }\n catch (e) { return this.load(url); }\n"
        ));
        assert!(found("const redo = (f, n) => f().catch((e) => redo(f, n - 1));\n"));
        assert!(!found("def fetch(url):\n  try:\n    fetch(url)\n  except E:\n    pass\n"));
        assert!(!found("def get(url):\n  try:\n    x()\n  except E:\n    other.forget(url)\n"));
        assert!(!found("def get(url):\n  try:\n    x()\n  except E:\n    other.get(url)\n"));
        let beside = "def get(url):\n  x()\ndef set():\n  try:\n    x()\n  except E:\n    get(1)\n";
        assert!(!found(beside), "of another function");
        assert!(!found("def get(url):\n  x()\ntry:\n  x()\nexcept E:\n  y()\nget(1)\n"));
        assert!(!found("if (x) {\n} catch (e) {\n if (y) {\n"));
        assert!(!found("try {\n} catch (E e) {\n}\nprivate String text(Object o) {\n}\n"));
    }
}

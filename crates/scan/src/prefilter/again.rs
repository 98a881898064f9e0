//! Functions that call themselves when something failed, as bytes show it: a handler, and a few
//! lines after it the name of one of the last functions.

/// How far after a handler begins the call may stand, in lines.
const NEAR: usize = 12;
/// So many functions are remembered: closures may stand between.
const REMEMBERED: usize = 4;
/// Shorter names stand in anything.
const SHORTEST: usize = 3;
/// What stands before a parenthesis and names no function.
const KEYWORDS: &[&str] =
    &["if", "for", "while", "switch", "catch", "elif", "match", "with", "using", "lock", "foreach"];

/// What is known of the functions and handlers of a text, line by line.
pub(super) struct Again<'s> {
    names: [&'s str; REMEMBERED],
    next: usize,
    /// Lines left in which a call counts.
    left: usize,
}

impl<'s> Again<'s> {
    pub(super) fn new() -> Self {
        Self { names: [""; REMEMBERED], next: 0, left: 0 }
    }

    /// Whether this line is such a call; `handles`: where a handler begins in it.
    pub(super) fn line(&mut self, line: &'s str, handles: Option<usize>) -> bool {
        let defines = defined(line).filter(|name| name.len() >= SHORTEST);
        if let Some(name) = defines {
            self.names[self.next % REMEMBERED] = name;
            self.next += 1;
        }
        if handles.is_some() {
            self.left = NEAR;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        // What stands before the handler in its own line is not after the failure, and the line
        // that defines a function does not call it.
        let after = match (handles, defines) {
            (Some(at), _) => line.get(at..).unwrap_or_default(),
            (None, Some(_)) => return false,
            (None, None) => line,
        };
        self.names.iter().any(|name| !name.is_empty() && calls(after, name))
    }
}

/// The name that a line gives a function: `def f(`, `function f(`, `async f(url) {`,
/// `const f = (`.
fn defined(line: &str) -> Option<&str> {
    let trimmed = line.trim();
    let python = trimmed.starts_with("def ") || trimmed.starts_with("async def ");
    let open = trimmed.find('(')?;
    if let Some(before) = trimmed[..open].trim_end_matches(" async ").trim_end().strip_suffix('=') {
        return last_word(before.trim_end()).filter(|_| trimmed.contains("=>"));
    }
    let name = last_word(&trimmed[..open])?;
    let opens = python || trimmed.ends_with('{') || trimmed.starts_with("function ");
    (opens && !KEYWORDS.contains(&name)).then_some(name)
}

fn last_word(text: &str) -> Option<&str> {
    let start = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    text.get(start..).filter(|word| !word.is_empty())
}

/// Whether a name is called in a line.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        line[at + name.len()..].starts_with('(') && !line[..at].ends_with(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        use crate::language::Language;
        let mut again = Again::new();
        let language = if text.starts_with("def") { Language::Python } else { Language::Java };
        text.lines().any(|line| again.line(line, super::super::twice::handler(language, line)))
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
        assert!(!found("if (x) {\n} catch (e) {\n if (y) {\n"));
        assert!(!found("try {\n} catch (E e) {\n}\nprivate String text(Object o) {\n}\n"));
    }
}

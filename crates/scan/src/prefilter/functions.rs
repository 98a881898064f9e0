//! The functions that a line stands in, as indentation shows them.

/// So many lines before one are looked through for the functions around it.
const FAR: usize = 300;

/// What a function's name follows.
const KEYWORDS: &[&str] = &["def", "fn", "func", "fun", "function"];
/// How a line begins that has a parenthesis and ends with a brace, and is no function.
const OTHERS: &[&str] = &[
    "if",
    "else",
    "for",
    "while",
    "switch",
    "catch",
    "elif",
    "match",
    "with",
    "using",
    "lock",
    "foreach",
    "return",
    "case",
    "try",
    "do",
    "await",
    "yield",
    "select",
    "go",
    "defer",
    "let",
    "loop",
    "unless",
    "when",
    "synchronized",
    "new",
    "throw",
];

/// The functions around the line after `before` that is indented so far, innermost first: how far
/// each is indented, and its name.
pub(super) fn around(before: &str, indented: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut least = indented;
    before.lines().rev().take(FAR).filter_map(move |line| {
        let own = indent(line);
        if own >= least {
            return None;
        }
        let name = defined(line)?;
        least = own;
        Some((own, name))
    })
}

/// Whether a function begins in one of these lines that ends all that are indented so far.
pub(super) fn another(between: &str, indented: usize) -> bool {
    between.lines().any(|line| indent(line) < indented && defined(line).is_some())
}

/// How far a line is indented, in bytes.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name that a line gives a function: `def f(`, `function f(`, `async f(url) {`,
/// `const f = (`.
pub(super) fn defined(line: &str) -> Option<&str> {
    let trimmed = line.trim();
    let start = trimmed.trim_start_matches(['}', ' ']);
    let first = start.find(|c| !word(c)).map_or(start, |end| &start[..end]);
    if first.is_empty() || OTHERS.contains(&first) {
        return None;
    }
    let open = trimmed.find('(').unwrap_or(trimmed.len());
    let before = &trimmed[..open];
    if let Some(at) = before.split(' ').position(|word| KEYWORDS.contains(&word)) {
        // `fun <T> load(`.
        let mut after = before.split(' ').skip(at + 1);
        let name = after.find(|name| !name.is_empty() && !name.starts_with('<'));
        if let Some(name) = name.and_then(|name| name.split(['<', ':', '=', ';']).next()) {
            return Some(name);
        }
        if trimmed.starts_with("func ") {
            // `func (s *Store) load(`.
            return trimmed.split_once(") ").and_then(|(_, rest)| rest.split('(').next());
        }
        // `load: async function (`, `Store.load = function (`.
        let end = before.rfind([':', '='])?;
        return last_word(before[..end].trim_end());
    }
    if open == trimmed.len() {
        return None;
    }
    if let Some(before) = before.trim_end_matches(" async ").trim_end().strip_suffix('=') {
        return last_word(before.trim_end()).filter(|_| trimmed.contains("=>"));
    }
    trimmed.ends_with('{').then(|| last_word(before)).flatten()
}

fn last_word(text: &str) -> Option<&str> {
    let start = text.trim_end_matches(word).len();
    text.get(start..).filter(|word| !word.is_empty())
}

pub(super) fn word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_a_function() {
        for (line, name) in [
            ("def load(url):", "load"),
            ("  async def load(", "load"),
            ("  def load", "load"),
            ("    pub async fn load<T>(url: T) -> R {", "load"),
            ("func (s *Store) load(ctx context.Context) error {", "load"),
            ("func load() {", "load"),
            ("  private suspend fun load(id: Int) = api.load(id)", "load"),
            ("export async function load(url) {", "load"),
            ("  async load(url) {", "load"),
            ("  load: async function (url) {", "load"),
            ("Store.prototype.load = function (url) {", "load"),
            ("  fun <T> load(id: Int): T {", "load"),
            ("  public Task<int> Load(string url) {", "Load"),
            ("const load = async (url) => {", "load"),
            ("const load = (url) => fetch(url);", "load"),
        ] {
            assert_eq!(defined(line), Some(name), "{line}");
        }
        for line in [
            "if (x) {",
            "} else if (x) {",
            "} catch (e) {",
            "match load(url) {",
            "return load(url, {",
            "load(url);",
            "}.then(function (x) {",
            "x = load(url)",
            "",
        ] {
            assert_eq!(defined(line), None, "{line}");
        }
    }

    #[test]
    fn functions_around_a_line() {
        let text = "def a():\n    x = 1\ntext at the start\n    def b():\n        y = 1\n";
        let names = |indented| around(text, indented).map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names(8), ["b", "a"]);
        assert_eq!(names(4), ["a"]);
        assert!(names(0).is_empty());
        assert!(another("    y = 1\ndef c():\n", 4));
        assert!(!another("    def inner():\n        y = 1\n", 4), "a part of it");
    }
}

//! `NAME=value` lines, and the `ENV` lines of a Dockerfile.

use super::{Document, Entry, MAX_NODES, Node, Syntax, Trouble, Value};

/// The document of a text: one map.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut entries = Vec::new();
    let mut troubles = Vec::new();
    for (line, row) in (1_u32..).zip(text.lines().take(MAX_NODES)) {
        let row = row.trim();
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let row = row.strip_prefix("export ").unwrap_or(row);
        match row.split_once('=') {
            Some((name, value)) => entries.push(entry(name.trim(), value.trim(), line)),
            None if troubles.len() < 8 => {
                troubles.push(Trouble { line, why: "a line without `=`".to_owned() });
            }
            None => {}
        }
    }
    (vec![document(Syntax::Env, entries, text)], troubles)
}

/// The document of a Dockerfile: what its `ENV` and `ARG` lines set, the last one for each name.
#[must_use]
pub fn dockerfile(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut rows = (1_u32..).zip(text.lines().take(MAX_NODES));
    while let Some((line, row)) = rows.next() {
        let mut parts = vec![(line, row.trim())];
        while parts.last().is_some_and(|(_, part)| part.ends_with('\\')) {
            let Some((line, next)) = rows.next() else { break };
            parts.push((line, next.trim()));
        }
        let Some((word, rest)) = parts[0].1.split_once(char::is_whitespace) else { continue };
        if !word.eq_ignore_ascii_case("env") {
            continue;
        }
        parts[0].1 = rest;
        let first = rest.split_whitespace().next().unwrap_or_default();
        if !first.contains('=') {
            // The old form: one name, and the rest is its value.
            let value = rest.trim_start().strip_prefix(first).unwrap_or_default();
            entries.push(entry(first, value.trim().trim_end_matches('\\'), line));
            continue;
        }
        for (line, part) in parts {
            for word in words(part.trim_end_matches('\\')) {
                if let Some((name, value)) = word.split_once('=') {
                    entries.push(entry(name, value, line));
                }
            }
        }
    }
    (vec![document(Syntax::Dockerfile, entries, text)], Vec::new())
}

/// Words that may hold blanks in quotes.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut from, mut quote) = (None, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => {
                quote = Some(c);
                from.get_or_insert(at);
            }
            (None, c) if c.is_whitespace() => {
                words.extend(from.take().and_then(|from: usize| text.get(from..at)));
            }
            (None, _) => {
                from.get_or_insert(at);
            }
        }
    }
    words.extend(from.and_then(|from| text.get(from..)));
    words
}

fn entry(name: &str, value: &str, line: u32) -> Entry {
    let strip = |quote: char| value.strip_prefix(quote)?.split(quote).next();
    let double = strip('"');
    let value = match (strip('\''), double) {
        (Some(text), _) => Node::scalar(text, true, line),
        (None, text) => {
            // A comment follows a blank; in quotes there is none.
            let text = text.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim());
            if text.contains("${") || text.starts_with('$') {
                Node { value: Value::Open(text.into()), lines: [line, line] }
            } else {
                Node::scalar(text, double.is_some(), line)
            }
        }
    };
    Entry { key: name.into(), line, value }
}

fn document(syntax: Syntax, entries: Vec<Entry>, text: &str) -> Document {
    let last = u32::try_from(text.lines().count()).unwrap_or(u32::MAX).max(1);
    Document { syntax, root: Node { value: Value::Map(entries), lines: [1, last] } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_values() {
        let (documents, troubles) =
            parse("# c\nexport A=1\nB='x # y'\nC=\"z\" # c\nD=$A\nE=2 # two\nnothing\n");
        let root = &documents[0].root;
        let of = |key: &str| root.get(key).and_then(Node::text);
        assert_eq!((of("A"), of("B"), of("C")), (Some("1"), Some("x # y"), Some("z")));
        assert_eq!(of("E"), Some("2"));
        assert_eq!(root.get("D").and_then(Node::open), Some("$A"));
        assert_eq!(troubles.len(), 1);
    }

    #[test]
    fn a_dockerfile_sets_names() {
        let (documents, _) = dockerfile(
            "FROM x\nENV AWS_MAX_ATTEMPTS 5\nENV A=1 B=\"two words\" \\\n    C=3\nRUN y\n",
        );
        let root = &documents[0].root;
        let of = |key: &str| root.get(key).and_then(Node::text);
        assert_eq!(of("AWS_MAX_ATTEMPTS"), Some("5"));
        assert_eq!((of("A"), of("B"), of("C")), (Some("1"), Some("two words"), Some("3")));
        assert_eq!(root.entry("C").expect("C").line, 4);
    }
}

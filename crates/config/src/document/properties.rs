//! Java properties: `key=value` with continuation lines and escapes, dotted keys as maps.

use super::{Document, Node, Syntax, Trouble, dotted};

/// The document of a text.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut tree = dotted::Tree::default();
    let mut troubles = Vec::new();
    let mut rows = (1_u32..).zip(text.lines());
    while let Some((line, row)) = rows.next() {
        let row = row.trim_start();
        if row.is_empty() || row.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = row.to_owned();
        let mut last = line;
        while goes_on(&logical) {
            logical.pop();
            let Some((line, next)) = rows.next() else { break };
            logical.push_str(next.trim_start());
            last = line;
        }
        let (key, value) = split(&logical);
        let steps = dotted::steps(&key);
        let mut node = Node::scalar(&value, false, line);
        node.lines[1] = last;
        if !tree.put(&steps, line, node) && troubles.len() < 8 {
            let why = "a key with too many dots, or too many keys".to_owned();
            troubles.push(Trouble { line, why });
        }
    }
    let root = tree.into_node(1);
    (vec![Document { syntax: Syntax::Properties, root }], troubles)
}

/// Whether a line ends in a backslash that is not escaped itself.
fn goes_on(row: &str) -> bool {
    row.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn split(row: &str) -> (String, String) {
    let mut escaped = false;
    let end = row.char_indices().find(|(_, c)| {
        let stop = !escaped && (matches!(c, '=' | ':') || c.is_whitespace());
        escaped = !escaped && *c == '\\';
        stop
    });
    let end = end.map_or(row.len(), |(at, _)| at);
    let (key, rest) = row.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim();
    (unescape(key), unescape(value))
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                out.extend(code.and_then(char::from_u32));
            }
            other => out.extend(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_maps() {
        let (documents, troubles) = parse(
            "# c\na.b.max-attempts = 2\na.list[0].x:1\na.long=one,\\\n  two\nkey\\ with\\=odd value\nt=\\u0041\n",
        );
        assert_eq!(troubles, []);
        let root = &documents[0].root;
        assert_eq!(root.below("a.b.maxAttempts").expect("attempts").integer(), Some(2));
        assert_eq!(root.below("a.list").expect("list").items()[0].text_at("x"), Some("1"));
        assert_eq!(root.text_at("a.long"), Some("one,two"));
        assert_eq!(root.below("a.long").expect("long").lines, [4, 5]);
        assert_eq!(root.get("key with=odd").and_then(Node::text), Some("value"));
        assert_eq!(root.text_at("t"), Some("A"));
    }

    #[test]
    fn too_many_dots_are_told() {
        assert_eq!(parse(&format!("a{}=1", ".a".repeat(10_000))).1.len(), 1);
    }
}

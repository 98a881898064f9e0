//! `[section]` and `key = value`, as AWS and Python's configparser read them. Indented lines
//! below a key without a value are a map of their own.

use super::{Document, Entry, MAX_NODES, Node, Syntax, Trouble, Value};

/// The document of a text: a map of sections, and what stands before the first one.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut root: Vec<Entry> = Vec::new();
    let mut section: Option<Entry> = None;
    let mut troubles = Vec::new();
    let mut last = 1;
    for (line, row) in (1_u32..).zip(text.lines()) {
        if usize::try_from(line).is_ok_and(|line| line > MAX_NODES) {
            troubles.push(Trouble { line, why: format!("more than {MAX_NODES} lines") });
            break;
        }
        let indented = row.starts_with([' ', '\t']);
        let trimmed = row.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        last = line;
        if let Some(name) = trimmed.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default().trim();
            root.extend(section.take());
            let value = Node { value: Value::Map(Vec::new()), lines: [line, line] };
            section = Some(Entry { key: name.into(), line, value });
            continue;
        }
        let (entries, lines) = match &mut section {
            Some(Entry { value: Node { value: Value::Map(entries), lines }, .. }) => {
                (entries, Some(lines))
            }
            _ => (&mut root, None),
        };
        if let Some(lines) = lines {
            lines[1] = line;
        }
        let pair = trimmed.split_once(['=', ':']);
        match (indented, entries.last_mut(), pair) {
            (true, Some(above), pair) if !above.value.entries().is_empty() || hollow(above) => {
                nest(&mut above.value, pair, line);
            }
            (_, _, Some((key, value))) => {
                let value = Node::scalar(value.trim(), false, line);
                entries.push(Entry { key: key.trim().into(), line, value });
            }
            // A value that goes on: nothing here is read from it.
            (true, Some(above), None) => above.value.lines[1] = line,
            _ if troubles.len() < 8 => {
                troubles.push(Trouble { line, why: "neither a section nor a key".to_owned() });
            }
            _ => {}
        }
    }
    root.extend(section);
    let root = Node { value: Value::Map(root), lines: [1, last] };
    (vec![Document { syntax: Syntax::Ini, root }], troubles)
}

fn hollow(entry: &Entry) -> bool {
    entry.value.text() == Some("")
}

fn nest(above: &mut Node, pair: Option<(&str, &str)>, line: u32) {
    above.lines[1] = line;
    let Some((key, value)) = pair else { return };
    let value = Node::scalar(value.trim(), false, line);
    let entry = Entry { key: key.trim().into(), line, value };
    match &mut above.value {
        Value::Map(entries) => entries.push(entry),
        other => *other = Value::Map(vec![entry]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_hold_their_keys() {
        let (documents, troubles) = parse(
            "top = 0\n[profile shop]\nmax_attempts = 2\ns3 =\n  max_concurrent_requests = 20\n; c\n[b]\nlong = a\n  b\nnothing\n",
        );
        assert_eq!(troubles.len(), 1);
        let root = &documents[0].root;
        let shop = root.get("profile shop").expect("shop");
        assert_eq!(shop.lines, [2, 5]);
        assert_eq!(shop.get("max_attempts").and_then(Node::integer), Some(2));
        assert_eq!(shop.below("s3.max_concurrent_requests").and_then(Node::integer), Some(20));
        assert_eq!(root.get("b").expect("b").text_at("long"), Some("a"));
    }
}

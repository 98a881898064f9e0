//! TOML, with the line of every key.

use toml::de::{DeTable, DeValue};

use super::{Document, Entry, Lines, MAX_DEPTH, Node, Syntax, Trouble, Value};

/// The document of a text. What could be read beside a mistake is kept.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let lines = Lines::of(text);
    if let Some(line) = too_deep(text) {
        let why = format!("a key with more than {MAX_DEPTH} parts");
        return (Vec::new(), vec![Trouble { line, why }]);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let trouble = |error: &toml::de::Error| Trouble {
        line: lines.at(error.span().map_or(0, |span| span.start)),
        why: format!("this is not valid TOML: {}", error.message()),
    };
    let troubles = errors.iter().take(8).map(trouble).collect();
    let mut root = map(table.get_ref(), &lines, 1);
    root.lines = [1, lines.at(text.len())];
    (vec![Document { syntax: Syntax::Toml, root }], troubles)
}

/// The parser bounds nesting of values; tables are as deep as their keys have dots.
fn too_deep(text: &str) -> Option<u32> {
    let deep = |row: &str| row.bytes().filter(|byte| *byte == b'.').count() >= MAX_DEPTH;
    let key = |row: &str| row.split('=').next().is_some_and(deep);
    let row = text.lines().position(key)?;
    Some(u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1))
}

fn map(table: &DeTable<'_>, lines: &Lines, line: u32) -> Node {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let (start, end) = (key.span().start, value.span().end.max(key.span().end));
            let line = lines.at(start);
            let place = [lines.at(value.span().start).max(line), lines.at(end.saturating_sub(1))];
            (
                start,
                Entry {
                    key: (&**key.get_ref()).into(),
                    line,
                    value: node(value.get_ref(), lines, place),
                },
            )
        })
        .collect();
    entries.sort_by_key(|(start, _)| *start);
    let entries: Vec<Entry> = entries.into_iter().map(|(_, entry)| entry).collect();
    let ends = |entry: &Entry| entry.value.lines[1].max(entry.line);
    let last = entries.iter().map(ends).max().unwrap_or(line);
    let first = entries.iter().map(|entry| entry.line).min().unwrap_or(line).min(line);
    Node { value: Value::Map(entries), lines: [first, last.max(first)] }
}

fn node(value: &DeValue<'_>, lines: &Lines, place: [u32; 2]) -> Node {
    let place = [place[0], place[1].max(place[0])];
    let scalar = |text: &str, quoted| Value::Scalar { text: text.into(), quoted };
    let value = match value {
        DeValue::String(text) => scalar(text, true),
        DeValue::Integer(number) if number.radix() == 10 => scalar(number.as_str(), false),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => scalar(&number.to_string(), false),
            Err(_) => scalar(number.as_str(), false),
        },
        DeValue::Float(number) => scalar(number.as_str(), false),
        DeValue::Boolean(truth) => scalar(if *truth { "true" } else { "false" }, false),
        DeValue::Datetime(time) => scalar(&time.to_string(), false),
        DeValue::Array(items) => {
            let item = |item: &toml::Spanned<DeValue<'_>>| {
                let span = item.span();
                let place = [lines.at(span.start), lines.at(span.end.saturating_sub(1))];
                node(item.get_ref(), lines, place)
            };
            let items: Vec<Node> = items.iter().map(item).collect();
            let last = items.last().map_or(place[1], |item| item.lines[1]).max(place[1]);
            return Node { value: Value::List(items), lines: [place[0], last] };
        }
        DeValue::Table(table) => {
            let mut map = map(table, lines, place[0]);
            map.lines[1] = map.lines[1].max(place[1]);
            return map;
        }
    };
    Node { value, lines: place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let (documents, troubles) = parse(
            "a = 1\n[http.middlewares.twice]\n  [http.middlewares.twice.retry]\n    attempts = 2\n    initialInterval = \"5ms\"\n\n[[list]]\nx = 0x10\n[[list]]\ny = {z = [\n 1,\n 2]}\n",
        );
        assert_eq!(troubles, []);
        let root = &documents[0].root;
        let retry =
            root.below("http.middlewares.twice").and_then(|m| m.entry("retry")).expect("retry");
        assert_eq!(retry.line, 3);
        assert_eq!(retry.value.lines, [3, 5]);
        assert_eq!(retry.value.entry("attempts").expect("attempts").line, 4);
        let list = root.get("list").expect("list").items();
        assert_eq!(list[0].get("x").and_then(Node::integer), Some(16));
        assert_eq!(list[1].below("y.z").expect("z").lines, [10, 12]);
    }

    #[test]
    fn mistakes_and_depths_are_told() {
        let (documents, troubles) = parse("a = 1\nb = = 2\n");
        assert_eq!(documents[0].root.get("a").and_then(Node::integer), Some(1));
        assert_eq!(troubles[0].line, 2);
        assert!(!parse(&format!("[a{}]", ".a".repeat(10_000))).1.is_empty());
        assert!(!parse(&format!("a = {}", "[".repeat(10_000))).1.is_empty());
    }
}

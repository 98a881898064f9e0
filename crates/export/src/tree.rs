//! What is written, as a tree: maps keep their order, and an entry may have comments above it. It
//! is printed as YAML or as JSON.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// A text.
    Text(String),
    /// A number or a truth, as it is printed.
    Plain(String),
    /// A list.
    List(Vec<Tree>),
    /// A map.
    Map(Map),
}

/// A map in the order of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Map(Vec<Entry>);

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    comments: Vec<String>,
    key: String,
    value: Tree,
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Tree {
    fn from(truth: bool) -> Self {
        Self::Plain(truth.to_string())
    }
}

impl From<u32> for Tree {
    fn from(number: u32) -> Self {
        Self::Plain(number.to_string())
    }
}

impl From<u64> for Tree {
    fn from(number: u64) -> Self {
        Self::Plain(number.to_string())
    }
}

impl From<f64> for Tree {
    /// As many digits as it needs; what is no number is written as 0.
    fn from(number: f64) -> Self {
        Self::Plain(if number.is_finite() { number.to_string() } else { "0".to_owned() })
    }
}

impl From<Map> for Tree {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl<T: Into<Tree>> From<Vec<T>> for Tree {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

impl Map {
    /// An empty map.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With one more entry.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Tree>) -> Self {
        self.put(key, value);
        self
    }

    /// With one more entry, if there is a value.
    pub(crate) fn with_some(self, key: &str, value: Option<impl Into<Tree>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds an entry.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Tree>) {
        self.0.push(Entry { comments: Vec::new(), key: key.to_owned(), value: value.into() });
    }

    /// With comments above the last entry.
    pub(crate) fn noted(mut self, comments: impl IntoIterator<Item = String>) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.comments.extend(comments);
        }
        self
    }

    /// With comments above the first entry.
    pub(crate) fn headed(mut self, comments: impl IntoIterator<Item = String>) -> Self {
        if let Some(first) = self.0.first_mut() {
            first.comments.extend(comments);
        }
        self
    }

    /// Whether there is no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its entries, without comments.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Tree)> {
        self.0.iter().map(|entry| (entry.key.as_str(), &entry.value))
    }

    /// This map, if it is not empty.
    pub(crate) fn some(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }
}

/// A value of JSON.
pub(crate) fn of_json(value: &serde_json::Value) -> Tree {
    use serde_json::Value;
    match value {
        Value::String(text) => Tree::Text(text.clone()),
        Value::Array(items) => Tree::List(items.iter().map(of_json).collect()),
        Value::Object(map) => {
            let with = |all: Map, (key, value): (&String, &Value)| all.with(key, of_json(value));
            Tree::Map(map.iter().fold(Map::new(), with))
        }
        plain => Tree::Plain(plain.to_string()),
    }
}

/// Documents of YAML, one after another.
pub(crate) fn yaml(documents: &[Map]) -> String {
    let mut out = String::new();
    for (at, document) in documents.iter().enumerate() {
        if at > 0 {
            out.push_str("---\n");
        }
        print_map(document, 0, false, &mut out);
    }
    out
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

/// `begun`: the first line has its indent already, as in a list.
fn print_map(map: &Map, depth: usize, begun: bool, out: &mut String) {
    for (at, entry) in map.0.iter().enumerate() {
        let begun = begun && at == 0;
        for (line, comment) in entry.comments.iter().enumerate() {
            if !(begun && line == 0) {
                indent(depth, out);
            }
            out.push_str("# ");
            out.push_str(comment);
            out.push('\n');
        }
        if !begun || !entry.comments.is_empty() {
            indent(depth, out);
        }
        out.push_str(&scalar(&entry.key));
        out.push(':');
        print_value(&entry.value, depth, out);
    }
}

fn print_value(value: &Tree, depth: usize, out: &mut String) {
    match value {
        Tree::Text(text) => line(out, &scalar(text)),
        Tree::Plain(text) => line(out, text),
        Tree::List(items) if items.is_empty() => line(out, "[]"),
        Tree::Map(map) if map.is_empty() => line(out, "{}"),
        Tree::Map(map) => {
            out.push('\n');
            print_map(map, depth + 1, false, out);
        }
        Tree::List(items) => match short(items) {
            Some(text) => line(out, &text),
            None => {
                out.push('\n');
                for item in items {
                    indent(depth, out);
                    out.push('-');
                    match item {
                        Tree::Map(map) if !map.is_empty() => {
                            out.push(' ');
                            print_map(map, depth + 1, true, out);
                        }
                        other => print_value(other, depth + 1, out),
                    }
                }
            }
        },
    }
}

fn line(out: &mut String, text: &str) {
    out.push(' ');
    out.push_str(text);
    out.push('\n');
}

/// A list of plain values on one line.
fn short(items: &[Tree]) -> Option<String> {
    let each = |item: &Tree| match item {
        Tree::Text(text) => Some(scalar(text)),
        Tree::Plain(text) => Some(text.clone()),
        _ => None,
    };
    let all: Option<Vec<String>> = items.iter().map(each).collect();
    all.map(|all| format!("[{}]", all.join(", "))).filter(|text| text.len() <= 80)
}

/// A text that YAML reads as this text.
fn scalar(text: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"];
    let first = |c: char| c.is_ascii_alphabetic() || c == '/';
    let rest = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let plain = text.starts_with(first)
        && text.chars().all(rest)
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { quoted(text) }
}

/// A text in double quotes, as JSON and YAML read it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// One document of JSON; comments are left out.
pub(crate) fn json(document: &Map) -> String {
    let mut out = String::new();
    json_value(&Tree::Map(document.clone()), 0, &mut out);
    out.push('\n');
    out
}

fn json_value(value: &Tree, depth: usize, out: &mut String) {
    let list =
        |out: &mut String, ends: [char; 2], count: usize, each: &dyn Fn(usize, &mut String)| {
            out.push(ends[0]);
            for at in 0..count {
                out.push_str(if at == 0 { "\n" } else { ",\n" });
                indent(depth + 1, out);
                each(at, out);
            }
            if count > 0 {
                out.push('\n');
                indent(depth, out);
            }
            out.push(ends[1]);
        };
    match value {
        Tree::Text(text) => out.push_str(&quoted(text)),
        Tree::Plain(text) => out.push_str(text),
        Tree::List(items) => list(out, ['[', ']'], items.len(), &|at, out| {
            if let Some(item) = items.get(at) {
                json_value(item, depth + 1, out);
            }
        }),
        Tree::Map(map) => list(out, ['{', '}'], map.0.len(), &|at, out| {
            if let Some(entry) = map.0.get(at) {
                out.push_str(&quoted(&entry.key));
                out.push_str(": ");
                json_value(&entry.value, depth + 1, out);
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_printed_as_people_write_it() {
        let inner = Map::new().with("host", "orders").with("port", 80_u32);
        let map = Map::new()
            .with("name", "yes")
            .with("list", vec![inner.clone().headed(["why".to_owned()]), inner])
            .with("codes", vec![503_u32, 429])
            .noted(["two".to_owned()])
            .with("empty", Map::new());
        insta::assert_snapshot!(yaml(&[map.clone(), Map::new().with("a", 0.1)]), @r#"
        name: "yes"
        list:
        - # why
          host: orders
          port: 80
        - host: orders
          port: 80
        # two
        codes: [503, 429]
        empty: {}
        ---
        a: 0.1
        "#);
        assert!(json(&map).contains("\"codes\": [\n    503,\n    429\n  ]"));
    }
}

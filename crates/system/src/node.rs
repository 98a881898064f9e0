//! The span tree: YAML without meaning, but with the place of everything.

use crate::source::Span;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Span,
}

/// What YAML knows.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// Anything else that is one word or one quoted text.
    Scalar {
        text: String,
        /// Written without quotes.
        plain: bool,
    },
    /// A list.
    Seq(Vec<Node>),
    /// A mapping, in the order of the file, without duplicates.
    Map(Vec<Entry>),
}

/// One key of a mapping with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Name,
    pub(crate) value: Node,
}

/// A key and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Node {
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Null => Some(&[]),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    /// The value under `key`.
    pub(crate) fn child(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|e| e.key.text == key)
    }

    /// What a problem says was found here.
    pub(crate) fn found(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Scalar { text, .. } => quoted(text),
            Value::Seq(items) if items.is_empty() => "an empty list".to_owned(),
            Value::Seq(_) => "a list".to_owned(),
            Value::Map(entries) if entries.is_empty() => "an empty mapping".to_owned(),
            Value::Map(entries) => {
                let keys: Vec<String> = entries.iter().map(|e| quoted(&e.key.text)).collect();
                if keys.len() > 4 {
                    format!("a mapping with {}, …", keys[..4].join(", "))
                } else {
                    format!("a mapping with {}", keys.join(", "))
                }
            }
        }
    }

    /// The same tree as JSON by YAML 1.2's core schema.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Scalar { text, plain: false } => Json::String(text.clone()),
            Value::Scalar { text, plain: true } => match text.as_str() {
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                    serde_json::from_str(text)
                        .ok()
                        .filter(Json::is_number)
                        .unwrap_or_else(|| Json::String(text.clone()))
                }
                _ => Json::String(text.clone()),
            },
            Value::Seq(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|e| (e.key.text.clone(), e.value.to_json())).collect(),
            ),
        }
    }
}

/// A word of the file as a message shows it: in backquotes, short, without control characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let shown: String = shown
        .chars()
        .flat_map(|c| {
            let escape = if c.is_control() { Some(c.escape_default()) } else { None };
            let plain = escape.is_none().then_some(c);
            plain.into_iter().chain(escape.into_iter().flatten())
        })
        .collect();
    if shown.is_empty() { "an empty text".to_owned() } else { format!("`{shown}`") }
}

//! A file as a tree of values that know their lines, whatever syntax it is written in.

pub mod caddyfile;
pub mod dotted;
pub mod env;
pub mod haproxy;
pub mod hcl;
pub mod helm;
pub mod ini;
pub mod json;
pub mod kustomize;
pub mod nginx;
pub mod properties;
mod secret;
mod syntax;
pub mod toml;
mod words;
pub mod yaml;

pub use secret::looks_secret;

use std::fmt;

/// Values of one file, aliases written out.
pub const MAX_NODES: usize = 4_000_000;
/// Nesting of collections.
pub const MAX_DEPTH: usize = 128;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Syntax {
    /// YAML, one document or several.
    Yaml,
    /// JSON, with comments or without.
    Json,
    /// TOML.
    Toml,
    /// `key = value` lines, as Java reads them.
    Properties,
    /// `[section]` and `key = value`, as AWS reads them.
    Ini,
    /// `NAME=value` lines.
    Env,
    /// What a Dockerfile sets with `ENV`.
    Dockerfile,
    /// The language of Terraform and of Consul.
    Hcl,
    /// Words, blocks in braces, semicolons.
    Nginx,
    /// Words in lines, sections by their first word.
    Haproxy,
    /// Words in lines, blocks in braces.
    Caddyfile,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// First and last line, from 1.
    pub lines: [u32; 2],
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A number, a truth, a text: what it means is for the format to say.
    Scalar {
        /// As written, without quotes.
        text: Box<str>,
        /// Whether it stood in quotes, and so is a text.
        quoted: bool,
    },
    /// What a template or a variable would fill in; not known here.
    Open(Box<str>),
    /// A list.
    List(Vec<Node>),
    /// Keys with values, in order.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Box<str>,
    /// The line of the key.
    pub line: u32,
    /// The value.
    pub value: Node,
}

/// One document of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its syntax.
    pub syntax: Syntax,
    /// Its root.
    pub root: Node,
}

/// Why a file could not be read, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.why)
    }
}

/// The documents of a text. What stands before a mistake is kept.
#[must_use]
pub fn parse(syntax: Syntax, text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let (mut documents, troubles) = match syntax {
        Syntax::Yaml => yaml::parse(text),
        Syntax::Json => json::parse(text),
        Syntax::Toml => toml::parse(text),
        Syntax::Properties => properties::parse(text),
        Syntax::Ini => ini::parse(text),
        Syntax::Env => env::parse(text),
        Syntax::Dockerfile => env::dockerfile(text),
        Syntax::Hcl => hcl::parse(text),
        Syntax::Nginx => nginx::parse(text),
        Syntax::Haproxy => haproxy::parse(text),
        Syntax::Caddyfile => caddyfile::parse(text),
    };
    documents.iter_mut().for_each(|document| secret::hide(&mut document.root));
    (documents, troubles)
}

impl Node {
    /// A node without children that stands in one line.
    #[must_use]
    pub fn scalar(text: &str, quoted: bool, line: u32) -> Self {
        Self { value: Value::Scalar { text: text.into(), quoted }, lines: [line, line] }
    }

    /// The value of a key, by its very name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key, by its very name.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| &*entry.key == key)
    }

    /// The value of a key that may be written `numRetries`, `num_retries` or `num-retries`.
    #[must_use]
    pub fn loose(&self, key: &str) -> Option<&Self> {
        self.loose_entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key that may be written in several ways, as [`Self::loose`].
    #[must_use]
    pub fn loose_entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| same_word(&entry.key, key))
    }

    /// The value below keys that are joined with dots, each as [`Self::loose`].
    #[must_use]
    pub fn below(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, key| node.loose(key))
    }

    /// The entries of a map; none of anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The items of a list, or the one value that stands where a list may stand.
    #[must_use]
    pub fn one_or_more(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// The text of a scalar.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar below keys, as [`Self::below`].
    #[must_use]
    pub fn text_at(&self, path: &str) -> Option<&str> {
        self.below(path)?.text()
    }

    /// A number; also one in quotes.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        let number: f64 = self.text()?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// A whole number; also one in quotes.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        self.text()?.trim().parse().ok()
    }

    /// A truth.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match self.text()?.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// What a template would fill in here.
    #[must_use]
    pub fn open(&self) -> Option<&str> {
        match &self.value {
            Value::Open(expression) => Some(expression),
            _ => None,
        }
    }

    /// Whether nothing stands here.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }
}

/// Whether two words are the same but for capitals, `_` and `-`.
#[must_use]
pub fn same_word(a: &str, b: &str) -> bool {
    fn letters(word: &str) -> impl Iterator<Item = u8> {
        word.bytes()
            .filter(|byte| !matches!(byte, b'_' | b'-'))
            .map(|byte| byte.to_ascii_lowercase())
    }
    a == b || a.len().abs_diff(b.len()) <= 8 && letters(a).eq(letters(b))
}

/// The line of each byte of a text.
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The line of a byte, from 1.
    pub(crate) fn at(&self, byte: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= byte)).unwrap_or(u32::MAX)
    }
}

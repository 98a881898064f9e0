//! Templates of Helm charts, as far as they can be read without running them.
//!
//! What an action prints is filled in where it is a value of the chart; conditions that the values
//! decide are decided; the rest stays open. Lines keep their numbers.

mod expression;

use super::{Document, Node, Trouble, Value, yaml};
use expression::{Printed, Scope};

/// What templates of a chart are filled with.
#[derive(Debug, Default)]
pub struct Chart<'a> {
    /// The chart's name; also taken for that of its release.
    pub name: &'a str,
    /// The root of its `values.yaml`.
    pub values: Option<&'a Node>,
}

/// What a template is, filled in.
#[derive(Debug, Default)]
pub struct Filled {
    /// Its documents.
    pub documents: Vec<Document>,
    /// What of it is not known, by line.
    pub open: Vec<(u32, String)>,
    /// Where what was filled in could not be parsed.
    pub troubles: Vec<Trouble>,
}

/// The documents of a template, and what of it is not known.
#[must_use]
pub fn documents(template: &str, chart: &Chart<'_>) -> Filled {
    let mut render = Render::of(chart);
    for piece in pieces(template) {
        render.piece(piece);
    }
    let (mut documents, troubles) = yaml::parse_each(&render.out);
    let mut open = Vec::new();
    for document in &mut documents {
        give_back(&mut document.root, &render.opens, &mut open);
    }
    open.sort();
    open.dedup();
    Filled { documents, open, troubles }
}

/// Text between actions, or an action without its braces.
#[derive(Clone, Copy, Debug)]
enum Piece<'a> {
    Text(&'a str),
    Action { inside: &'a str, newlines: usize },
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let (mut all, mut rest) = (Vec::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        all.push(Piece::Text(before));
        // A comment may hold braces.
        let comment = after.trim_start_matches(['-', ' ']).starts_with("/*");
        let end = if comment {
            after.find("*/").and_then(|at| Some(at + after.get(at..)?.find("}}")?))
        } else {
            after.find("}}")
        };
        let Some(end) = end else {
            all.push(Piece::Text(after));
            return all;
        };
        let inside = after.get(..end).unwrap_or_default();
        rest = after.get(end + 2..).unwrap_or_default();
        let newlines = inside.matches('\n').count();
        let inside = inside.strip_prefix("- ").unwrap_or(inside);
        let inside = inside.trim_end_matches('-').trim_start_matches('-').trim();
        all.push(Piece::Action { inside: if comment { "/*" } else { inside }, newlines });
    }
    all.push(Piece::Text(rest));
    all
}

/// A block that waits for its `end`.
struct Block<'a> {
    /// Whether its text is shown now.
    shown: bool,
    /// Whether one of its branches was shown, or may be.
    taken: bool,
    /// What the dot means in it.
    dot: Scope<'a>,
}

struct Render<'a> {
    chart: &'a Chart<'a>,
    out: String,
    /// Where the line begins that is being written.
    line_start: usize,
    blocks: Vec<Block<'a>>,
    /// Blocks that are nested too deep to be looked at.
    beyond: usize,
    opens: Vec<String>,
}

/// Blocks in blocks; deeper ones are left out.
const MAX_BLOCKS: usize = 100;
/// Blank lines that may stand between a key and its value.
const MAX_BLANK: usize = 20;
/// Bytes that one value may print, against values that hold a whole file.
const MAX_PRINTED: usize = 64 * 1024;
/// What stands for an open value until the text is parsed.
const MARK: &str = "HELM-OPEN-";

impl<'a> Render<'a> {
    fn of(chart: &'a Chart<'a>) -> Self {
        Self {
            chart,
            out: String::new(),
            line_start: 0,
            blocks: Vec::new(),
            beyond: 0,
            opens: Vec::new(),
        }
    }

    fn shown(&self) -> bool {
        self.beyond == 0 && self.blocks.iter().all(|block| block.shown)
    }

    fn dot(&self) -> Scope<'a> {
        self.blocks.last().map_or(Scope::Root, |block| block.dot)
    }

    fn piece(&mut self, piece: Piece<'a>) {
        match piece {
            Piece::Text(text) if self.shown() => {
                if let Some(at) = text.rfind('\n') {
                    self.line_start = self.out.len() + at + 1;
                }
                self.out.push_str(text);
            }
            Piece::Text(text) => self.newlines(text.matches('\n').count()),
            Piece::Action { inside, newlines } => {
                self.action(inside);
                self.newlines(newlines);
            }
        }
    }

    fn newlines(&mut self, count: usize) {
        if count > 0 {
            self.out.extend(std::iter::repeat_n('\n', count));
            self.line_start = self.out.len();
        }
    }

    fn action(&mut self, inside: &'a str) {
        let (word, rest) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        match word {
            "if" | "with" | "range" | "define" | "block" if self.blocks.len() >= MAX_BLOCKS => {
                self.beyond += 1;
            }
            "if" | "with" | "range" => self.begin(word, rest.trim()),
            "define" | "block" => {
                let dot = self.dot();
                self.blocks.push(Block { shown: false, taken: true, dot });
            }
            "end" if self.beyond > 0 => self.beyond -= 1,
            "else" if self.beyond > 0 => {}
            "else" => self.otherwise(rest.trim()),
            "end" => {
                self.blocks.pop();
            }
            _ if !self.shown()
                || inside.starts_with("/*")
                || inside.starts_with('$') && inside.contains(":=") => {}
            _ => self.print(inside),
        }
    }

    fn begin(&mut self, word: &str, condition: &'a str) {
        let dot = self.dot();
        // `range $key, $value := .Values.list`
        let subject = condition.split_once(":=").map_or(condition, |(_, subject)| subject).trim();
        let known = expression::truth(subject, dot, self.chart);
        let node = expression::node(subject, dot, self.chart);
        let inner = match (word, node) {
            ("with", Some(node)) => Scope::At(node),
            ("range", Some(node)) => {
                let first = node.items().first().or(node.entries().first().map(|one| &one.value));
                first.map_or(Scope::Unknown, Scope::At)
            }
            ("if", _) => dot,
            _ => Scope::Unknown,
        };
        let shown = known != Some(false);
        self.blocks.push(Block { shown, taken: shown, dot: inner });
    }

    /// An unknown condition is taken to hold; its other branches are left out.
    fn otherwise(&mut self, rest: &'a str) {
        let Some(mut block) = self.blocks.pop() else { return };
        let holds = match rest.strip_prefix("if") {
            Some(condition) => {
                expression::truth(condition.trim(), self.dot(), self.chart) != Some(false)
            }
            None => true,
        };
        block.shown = !block.taken && holds;
        block.taken |= block.shown;
        block.dot = self.dot();
        self.blocks.push(block);
    }

    fn print(&mut self, inside: &str) {
        let alone = self.out.get(self.line_start..).is_some_and(|line| line.trim().is_empty());
        match expression::print(inside, self.dot(), self.chart) {
            Printed::Text(text) if text.len() <= MAX_PRINTED => {
                self.out.push_str(&text.replace('\n', " "));
            }
            Printed::Tree(node) if !alone => {
                // `key: {{ toYaml .Values.x }}`: a value in one line is the same value.
                let mut text = String::new();
                flow(node, &mut text);
                if text.len() <= MAX_PRINTED {
                    self.out.push_str(&text);
                }
            }
            Printed::Tree(node) => self.below(node),
            // A line that is nothing but an unknown action is left blank.
            _ if alone => {}
            _ => {
                self.out.push_str(MARK);
                self.out.push_str(&self.opens.len().to_string());
                self.out.push('-');
                self.opens.push(inside.to_owned());
            }
        }
    }

    /// Puts a tree below the key that the line before ends with, in one line; elsewhere its keys
    /// would have to stand in lines of their own, which there are not.
    fn below(&mut self, node: &Node) {
        let before = self.out.get(..self.line_start).unwrap_or_default();
        let last = before.rsplit('\n').take(MAX_BLANK).find(|line| !line.trim().is_empty());
        let Some(last) = last.filter(|last| last.trim_end().ends_with(':')) else { return };
        let indent = last.len() - last.trim_start().len();
        let mut text = String::new();
        flow(node, &mut text);
        if text.len() <= MAX_PRINTED && !node.is_null() {
            self.out.truncate(self.line_start);
            self.out.extend(std::iter::repeat_n(' ', indent + 2));
            self.out.push_str(&text);
        }
    }
}

/// A value in one line, as YAML and JSON both read it.
fn flow(node: &Node, out: &mut String) {
    match &node.value {
        Value::Null => out.push_str("null"),
        Value::Scalar { text, quoted: false }
            if !text.contains(['"', '\n', ':', '{', '[', ',', '#']) =>
        {
            out.push_str(text);
        }
        Value::Scalar { text, .. } | Value::Open(text) => {
            out.push('"');
            for c in text.chars() {
                match c {
                    '"' | '\\' => out.extend(['\\', c]),
                    '\n' => out.push_str("\\n"),
                    _ => out.push(c),
                }
            }
            out.push('"');
        }
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                flow(item, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (at, entry) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                flow(&Node::scalar(&entry.key, true, 1), out);
                out.push_str(": ");
                flow(&entry.value, out);
            }
            out.push('}');
        }
    }
}

/// Puts the expressions back for which marks stand.
fn give_back(node: &mut Node, opens: &[String], listed: &mut Vec<(u32, String)>) {
    match &mut node.value {
        Value::Scalar { text, .. } if text.contains(MARK) => {
            let text = without_marks(text, opens);
            // Where a release goes says nothing about what it does.
            if text != "{{ .Release.Namespace }}" {
                listed.push((node.lines[0], text.clone()));
            }
            node.value = Value::Open(text.into());
        }
        Value::List(items) => items.iter_mut().for_each(|item| give_back(item, opens, listed)),
        Value::Map(entries) => {
            for entry in entries {
                if entry.key.contains(MARK) {
                    entry.key = without_marks(&entry.key, opens).into();
                }
                give_back(&mut entry.value, opens, listed);
            }
        }
        _ => {}
    }
}

fn without_marks(text: &str, opens: &[String]) -> String {
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('-').unwrap_or((part, ""));
        let open = number.parse::<usize>().ok().and_then(|at| opens.get(at));
        out.push_str("{{ ");
        out.push_str(open.map_or(number, String::as_str));
        out.push_str(" }}");
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests;

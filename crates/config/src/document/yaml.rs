//! YAML events into documents, with limits. Aliases are written out and merges (`<<`) applied.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{Document, Entry, MAX_DEPTH, MAX_NODES, Node, Syntax, Trouble, Value};

/// The documents of a text. After a mistake the rest of the text is left out.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let mut tree = Tree::default();
    let parser = Parser::new_from_str(text);
    for event in parser {
        let outcome = match event {
            Ok((event, span)) => {
                let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
                tree.event(event, line(span.start.line()), line(span.end.line()))
            }
            Err(error) => Err(Trouble {
                line: u32::try_from(error.marker().line()).unwrap_or(u32::MAX),
                why: format!("this is not valid YAML: {}", error.info()),
            }),
        };
        if let Err(trouble) = outcome {
            tree.troubles.push(trouble);
            break;
        }
    }
    // Here and not only in `document::parse`: whoever reads YAML by itself gets no secret, either.
    tree.documents.iter_mut().for_each(|document| super::secret::hide(&mut document.root));
    (tree.documents, tree.troubles)
}

/// Mistakes after which a text is still read on.
const MAX_TROUBLES: usize = 100;

/// As [`parse`], but after a mistake it goes on with the next document.
#[must_use]
pub fn parse_each(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let (mut documents, mut troubles) = (Vec::new(), Vec::new());
    let (mut rest, mut before) = (text, 0_u32);
    loop {
        let (mut found, mut wrong) = parse(rest);
        if before > 0 {
            found.iter_mut().for_each(|one| shift(&mut one.root, before));
        }
        documents.append(&mut found);
        let Some(trouble) = wrong.pop() else { return (documents, troubles) };
        let line = trouble.line as usize;
        troubles.push(Trouble { line: trouble.line.saturating_add(before), why: trouble.why });
        let mut lines = rest.split_inclusive('\n').enumerate();
        let next = lines.find(|(at, text)| *at > 0 && *at + 1 >= line && text.starts_with("---"));
        let Some((skipped, _)) = next.filter(|_| troubles.len() < MAX_TROUBLES) else {
            return (documents, troubles);
        };
        let bytes: usize = rest.split_inclusive('\n').take(skipped).map(str::len).sum();
        rest = rest.get(bytes..).unwrap_or_default();
        before = before.saturating_add(u32::try_from(skipped).unwrap_or(u32::MAX));
    }
}

/// Moves a value down by some lines.
pub(crate) fn shift(node: &mut Node, by: u32) {
    node.lines = node.lines.map(|line| line.saturating_add(by));
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Map(entries) => {
            for entry in entries {
                entry.line = entry.line.saturating_add(by);
                shift(&mut entry.value, by);
            }
        }
        _ => {}
    }
}

#[derive(Default)]
struct Tree {
    documents: Vec<Document>,
    troubles: Vec<Trouble>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchor>,
    nodes: usize,
    anchored: usize,
}

struct Anchor {
    node: Node,
    nodes: usize,
    depth: usize,
}

/// A collection that has not ended yet.
struct Open {
    line: u32,
    anchor: usize,
    nodes_before: usize,
    depth: usize,
    kind: Kind,
}

enum Kind {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<(Box<str>, u32)>, merges: Vec<Node> },
}

impl Tree {
    fn event(&mut self, event: Event<'_>, line: u32, end: u32) -> Result<(), Trouble> {
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Scalar(text, style, anchor, tag) => {
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                // A block's place is that of its content, unless a tag or an anchor goes before.
                let line = line + u32::from(block && (anchor > 0 || tag.is_some()));
                let plain = style == ScalarStyle::Plain;
                let value = if plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
                    Value::Null
                } else {
                    Value::Scalar { text: text.into(), quoted: !plain }
                };
                self.count(1, line)?;
                self.node(Node { value, lines: [line, end.max(line)] }, anchor, 1, 0)
            }
            Event::Alias(id) => {
                let Some(anchor) = self.anchors.get(&id) else {
                    let why = "an alias inside its own anchor".to_owned();
                    return Err(Trouble { line, why });
                };
                let (nodes, depth) = (anchor.nodes, anchor.depth);
                // Counted before copying: a few lines of aliases can stand for billions of nodes.
                self.count(nodes, line)?;
                self.deep(depth, line)?;
                let node = self.anchors.get(&id).map(|anchor| anchor.node.clone());
                node.map_or(Ok(()), |node| self.node(node, 0, nodes, depth))
            }
            Event::SequenceStart(anchor, _) => self.begin(Kind::List(Vec::new()), anchor, line),
            Event::MappingStart(anchor, _) => {
                let kind = Kind::Map { entries: Vec::new(), key: None, merges: Vec::new() };
                self.begin(kind, anchor, line)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(line),
        }
    }

    fn count(&mut self, nodes: usize, line: u32) -> Result<(), Trouble> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            let why = format!("more than {MAX_NODES} values once aliases are written out");
            return Err(Trouble { line, why });
        }
        Ok(())
    }

    fn deep(&self, more: usize, line: u32) -> Result<(), Trouble> {
        if self.open.len() + more > MAX_DEPTH {
            let why = format!("values are nested more than {MAX_DEPTH} deep");
            return Err(Trouble { line, why });
        }
        Ok(())
    }

    fn begin(&mut self, kind: Kind, anchor: usize, line: u32) -> Result<(), Trouble> {
        self.deep(1, line)?;
        let nodes_before = self.nodes;
        self.count(1, line)?;
        self.open.push(Open { line, anchor, nodes_before, depth: 1, kind });
        Ok(())
    }

    fn end(&mut self, line: u32) -> Result<(), Trouble> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.kind {
            Kind::List(items) => Value::List(items),
            Kind::Map { mut entries, merges, .. } => {
                merges.iter().for_each(|merge| merge_into(&mut entries, merge));
                Value::Map(entries)
            }
        };
        // A block ends where its last value does; its end event comes at whatever follows.
        let last = match &value {
            Value::List(items) => items.last().map(|item| item.lines[1]),
            Value::Map(entries) => entries.last().map(|entry| entry.value.lines[1].max(entry.line)),
            _ => None,
        };
        let last = last.unwrap_or(open.line).clamp(open.line, line.max(open.line));
        let nodes = self.nodes - open.nodes_before;
        self.node(Node { value, lines: [open.line, last] }, open.anchor, nodes, open.depth)
    }

    /// Puts a finished node into the collection that is open.
    fn node(
        &mut self,
        node: Node,
        anchor: usize,
        nodes: usize,
        depth: usize,
    ) -> Result<(), Trouble> {
        if anchor > 0 {
            // Anchors in anchors are kept once for each: their sum is bounded, too.
            self.anchored = self.anchored.saturating_add(nodes);
            if self.anchored > MAX_NODES {
                let why = format!("anchors hold more than {MAX_NODES} values");
                return Err(Trouble { line: node.lines[0], why });
            }
            self.anchors.insert(anchor, Anchor { node: node.clone(), nodes, depth });
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(Document { syntax: Syntax::Yaml, root: node });
            self.anchors.clear();
            return Ok(());
        };
        open.depth = open.depth.max(depth + 1);
        match &mut open.kind {
            Kind::List(items) => items.push(node),
            Kind::Map { entries, key, merges } => match key.take() {
                None => {
                    let text = match node.value {
                        Value::Scalar { text, .. } => text,
                        Value::Null => "null".into(),
                        _ => "?".into(),
                    };
                    *key = Some((text, node.lines[0]));
                }
                Some((name, _)) if &*name == "<<" => merges.push(node),
                Some((name, line)) => {
                    let mut node = node;
                    if node.is_null() {
                        node.lines = [line, line];
                    }
                    entries.push(Entry { key: name, line, value: node });
                }
            },
        }
        Ok(())
    }
}

/// Adds what a mapping does not say itself.
fn merge_into(entries: &mut Vec<Entry>, from: &Node) {
    for source in from.one_or_more() {
        for entry in source.entries() {
            if !entries.iter().any(|one| one.key == entry.key) {
                entries.push(entry.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let (documents, troubles) =
            parse("a: 1\nb:\n  - c: x\n    d: [1, 2]\n  - e\n---\nf: {g: \"7\"}\n");
        assert_eq!(troubles, []);
        assert_eq!(documents.len(), 2);
        let root = &documents[0].root;
        assert_eq!(root.get("b").expect("b").lines, [3, 5]);
        assert_eq!(root.get("b").expect("b").items()[0].lines, [3, 4]);
        assert_eq!(documents[1].root.below("f.g").expect("g").number(), Some(7.0));
        assert_eq!(documents[1].root.entry("f").expect("f").line, 7);
    }

    #[test]
    fn a_block_of_text_is_where_its_content_is() {
        for head in ["|", "!Sub |", "&a |", "!Sub &a >"] {
            let (documents, _) = parse(&format!("x: {head}\n  a\n  b\ny: 1\n"));
            assert_eq!(documents[0].root.get("x").expect("x").lines[0], 2, "{head}");
        }
    }

    #[test]
    fn aliases_are_written_out_within_bounds() {
        let (documents, _) = parse("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\n");
        let used = documents[0].root.get("use").expect("use");
        assert_eq!(used.get("x").and_then(Node::number), Some(1.0));
        assert_eq!(used.get("y").and_then(Node::number), Some(3.0));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 9].join(", "));
        }
        assert!(parse(&bomb).1[0].why.contains("values"));
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(parse(&deep).1.len(), 1);
    }

    #[test]
    fn what_stands_before_a_mistake_is_kept() {
        let (documents, troubles) = parse("a: 1\n---\nb: [1\n---\nc: 2\n");
        assert_eq!(documents.len(), 1);
        assert_eq!(troubles.len(), 1);
    }

    #[test]
    fn a_mistake_ends_one_document_only() {
        let (documents, troubles) =
            parse_each("a: 1\n---\nb: [1\n---\nc: 2\n---\nd: {\n---\ne: 5\n");
        let keys: Vec<_> = documents.iter().map(|one| &*one.root.entries()[0].key).collect();
        assert_eq!(keys, ["a", "c", "e"]);
        assert_eq!(documents[2].root.entry("e").map(|entry| entry.line), Some(9));
        assert_eq!(troubles.len(), 2);
        assert!(parse_each(&"[\n---\n".repeat(1000)).1.len() <= MAX_TROUBLES);
    }
}

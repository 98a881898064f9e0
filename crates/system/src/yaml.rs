//! YAML events into a span tree, with limits.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::node::{Entry, Name, Node, Value};
use crate::problem::Draft;
use crate::source::Span;

/// Nesting of collections: a call tree of 32 levels needs up to three for each level.
pub(crate) const MAX_DEPTH: usize = 128;
/// Nodes after aliases have been expanded.
pub(crate) const MAX_NODES: usize = 200_000;

/// What a text holds.
pub(crate) struct Parsed {
    pub(crate) root: Node,
    /// Mistakes that leave a tree to go on with.
    pub(crate) drafts: Vec<Draft>,
}

/// Parses `text`, which stands in source `source` from byte `offset` on.
pub(crate) fn parse(text: &str, source: u32, offset: usize) -> Result<Parsed, Draft> {
    let mut tree = Tree::new(text, source, offset);
    let mut parser = Parser::new_from_str(text);
    loop {
        let (event, span) = match parser.next_event() {
            None => break,
            Some(Ok(event)) => event,
            Some(Err(e)) => {
                let at = tree.byte(e.marker().index());
                return Err(Draft::new(
                    tree.span(at..at + word(&text[at..])),
                    format!("this is not valid YAML: {}", e.info()),
                )
                .expected("a YAML document"));
            }
        };
        let at = tree.byte(span.start.index())..tree.byte(span.end.index());
        if tree.event(event, at)? {
            break;
        }
    }
    let end = text.trim_end().len();
    let empty = Node { value: Value::Null, span: tree.span(end..end) };
    Ok(Parsed { root: tree.root.unwrap_or(empty), drafts: tree.drafts })
}

/// Length of the word that a text begins with.
fn word(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':'))
        .unwrap_or(text.len())
}

struct Tree<'t> {
    text: &'t str,
    source: u32,
    offset: usize,
    /// Byte of each character; empty when all are ASCII.
    bytes: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchor>,
    nodes: usize,
    anchored: usize,
    root: Option<Node>,
    drafts: Vec<Draft>,
}

struct Anchor {
    node: Node,
    nodes: usize,
    depth: usize,
}

/// A collection that has not ended yet.
struct Open {
    start: usize,
    anchor: usize,
    nodes_before: usize,
    /// Deepest nesting below, counting itself.
    depth: usize,
    kind: Kind,
}

enum Kind {
    Seq(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashMap<String, Span>, key: Option<Name>, merges: Vec<Node> },
}

impl<'t> Tree<'t> {
    fn new(text: &'t str, source: u32, offset: usize) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(i, _)| i).collect()
        };
        Self {
            text,
            source,
            offset,
            bytes,
            open: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            anchored: 0,
            root: None,
            drafts: Vec::new(),
        }
    }

    fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            character.min(self.text.len())
        } else {
            self.bytes.get(character).copied().unwrap_or(self.text.len())
        }
    }

    fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.source, range.start + self.offset..range.end.max(range.start) + self.offset)
    }

    /// Whether the document has ended.
    fn event(&mut self, event: Event<'_>, at: std::ops::Range<usize>) -> Result<bool, Draft> {
        match event {
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
            Event::StreamEnd => return Ok(true),
            Event::DocumentStart(_) => {
                if self.root.is_some() {
                    return Err(Draft::new(self.span(at), "a second YAML document begins")
                        .expected("one document: one file describes one system"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                if tag.is_some() {
                    self.tag(&at);
                }
                let value = if plain && matches!(&*text, "" | "~" | "null") {
                    Value::Null
                } else {
                    Value::Scalar { text: text.into_owned(), plain }
                };
                self.count(1, &at)?;
                let span = self.span(at);
                self.node(Node { value, span }, anchor, 1, 0)?;
            }
            Event::Alias(id) => {
                let span = self.span(at.clone());
                let Some(anchor) = self.anchors.get(&id) else {
                    return Err(Draft::new(span, "this alias stands inside its own anchor")
                        .expected("an alias to an anchor that is complete"));
                };
                let (nodes, depth) = (anchor.nodes, anchor.depth);
                // Count before copying: a few lines of aliases can stand for billions of nodes.
                self.count(nodes, &at)?;
                self.deep(depth, &at)?;
                let node = self.anchors[&id].node.clone();
                self.node(node, 0, nodes, depth)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(Kind::Seq(Vec::new()), anchor, tag.is_some(), at)?;
            }
            Event::MappingStart(anchor, tag) => {
                let kind = Kind::Map {
                    entries: Vec::new(),
                    seen: HashMap::new(),
                    key: None,
                    merges: Vec::new(),
                };
                self.begin(kind, anchor, tag.is_some(), at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at)?,
        }
        Ok(false)
    }

    fn tag(&mut self, at: &std::ops::Range<usize>) {
        self.drafts.push(
            Draft::new(self.span(at.clone()), "YAML tags (`!…`) are not supported")
                .expected("a value without a tag"),
        );
    }

    fn count(&mut self, nodes: usize, at: &std::ops::Range<usize>) -> Result<(), Draft> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(Draft::new(
                self.span(at.clone()),
                format!(
                    "the file has more than {MAX_NODES} values once its aliases are written out"
                ),
            )
            .expected("a smaller file, or fewer aliases of aliases"));
        }
        Ok(())
    }

    fn deep(&self, more: usize, at: &std::ops::Range<usize>) -> Result<(), Draft> {
        if self.open.len() + more > MAX_DEPTH {
            return Err(Draft::new(
                self.span(at.clone()),
                format!("values are nested more than {MAX_DEPTH} deep"),
            )
            .expected("a flatter file"));
        }
        Ok(())
    }

    fn begin(
        &mut self,
        kind: Kind,
        anchor: usize,
        tagged: bool,
        at: std::ops::Range<usize>,
    ) -> Result<(), Draft> {
        if tagged {
            self.tag(&at);
        }
        self.deep(1, &at)?;
        let nodes_before = self.nodes;
        self.count(1, &at)?;
        self.open.push(Open { start: at.start, anchor, nodes_before, depth: 1, kind });
        Ok(())
    }

    fn end(&mut self, at: std::ops::Range<usize>) -> Result<(), Draft> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let flow = matches!(self.text.as_bytes().get(open.start), Some(b'{' | b'['));
        let start = self.offset + open.start;
        let (value, last) = match open.kind {
            Kind::Seq(items) => {
                let last = items.last().map(|n| n.span);
                (Value::Seq(items), last)
            }
            Kind::Map { mut entries, mut seen, merges, .. } => {
                let last = entries.last().map(|e| e.value.span);
                for merge in merges {
                    self.merge(merge, &mut entries, &mut seen, true)?;
                }
                (Value::Map(entries), last)
            }
        };
        let end = match last {
            _ if flow => self.offset + at.end,
            Some(last) if last.source == self.source => last.end as usize,
            _ => start,
        };
        let span = Span::new(self.source, start..end.max(start));
        let nodes = self.nodes - open.nodes_before;
        self.node(Node { value, span }, open.anchor, nodes, open.depth)
    }

    /// `<<`: adds what the mapping does not say itself.
    fn merge(
        &mut self,
        from: Node,
        entries: &mut Vec<Entry>,
        seen: &mut HashMap<String, Span>,
        lists: bool,
    ) -> Result<(), Draft> {
        match from.value {
            Value::Map(more) => {
                for entry in more {
                    if !seen.contains_key(&entry.key.text) {
                        seen.insert(entry.key.text.clone(), entry.key.span);
                        entries.push(entry);
                    }
                }
                Ok(())
            }
            Value::Seq(items) if lists => {
                items.into_iter().try_for_each(|item| self.merge(item, entries, seen, false))
            }
            _ => {
                self.drafts.push(
                    Draft::new(from.span, "`<<` cannot merge this")
                        .expected("a mapping, an alias of one, or a list of these"),
                );
                Ok(())
            }
        }
    }

    /// Puts a finished node into the collection that is open.
    fn node(&mut self, node: Node, anchor: usize, nodes: usize, depth: usize) -> Result<(), Draft> {
        if anchor > 0 {
            // Anchors in anchors are kept once for each: their sum is bounded, too.
            self.anchored = self.anchored.saturating_add(nodes);
            if self.anchored > MAX_NODES {
                return Err(Draft::new(
                    node.span,
                    format!("anchors hold more than {MAX_NODES} values"),
                )
                .expected("fewer anchors inside anchors"));
            }
            self.anchors.insert(anchor, Anchor { node: node.clone(), nodes, depth });
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.depth = open.depth.max(depth + 1);
        match &mut open.kind {
            Kind::Seq(items) => items.push(node),
            Kind::Map { entries, seen, key, merges } => match key.take() {
                None => {
                    let text = match node.value {
                        Value::Scalar { text, .. } => text,
                        _ => {
                            return Err(Draft::new(node.span, "this cannot be a key")
                                .found(node.found())
                                .expected("a key that is a word or a quoted text"));
                        }
                    };
                    *key = Some(Name { text, span: node.span });
                }
                Some(name) if name.text == "<<" => merges.push(node),
                Some(name) => {
                    let mut node = node;
                    if matches!(node.value, Value::Null) && node.span.start == node.span.end {
                        node.span = name.span;
                    }
                    if let Some(first) = seen.get(&name.text) {
                        self.drafts.push(
                            Draft::new(
                                name.span,
                                format!(
                                    "the key {} stands here twice",
                                    crate::node::quoted(&name.text)
                                ),
                            )
                            .expected("each key once")
                            .also(*first, "first here"),
                        );
                    } else {
                        seen.insert(name.text.clone(), name.span);
                        entries.push(Entry { key: name, value: node });
                    }
                }
            },
        }
        Ok(())
    }
}
